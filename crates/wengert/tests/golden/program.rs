//! The straight-line programs of the family `programs`, as data.

use serde_json::Value;

use super::load::{Object, key, list, naturals, real, text};

/// A node of a program.
#[derive(Clone, Debug)]
pub(crate) enum Node {
    /// An input of the case, by number.
    Input(usize),
    /// A constant scalar.
    Constant(f64),
    /// An operation on earlier nodes.
    Apply { op: String, args: Vec<usize>, attrs: Object },
}

/// Nodes in the order of evaluation, and which of them are the results.
#[derive(Clone, Debug)]
pub(crate) struct Program {
    pub(crate) nodes: Vec<Node>,
    pub(crate) outputs: Vec<usize>,
}

impl Program {
    /// Reads a program of a case with this many inputs; every reference is checked.
    pub(crate) fn parse(value: &Value, inputs: usize) -> Result<Self, String> {
        let object = value.as_object().ok_or("`program` is not an object")?;
        let nodes = list(object, "nodes")?
            .iter()
            .enumerate()
            .map(|(k, node)| Node::parse(node, k, inputs).map_err(|error| format!("node {k}: {error}")))
            .collect::<Result<Vec<_>, _>>()?;
        let outputs = naturals(key(object, "outputs")?).map_err(|error| format!("`program.outputs`: {error}"))?;
        match outputs.iter().find(|&&output| output >= nodes.len()) {
            None => Ok(Program { nodes, outputs }),
            Some(output) => Err(format!("`program.outputs` names node {output} of {}", nodes.len())),
        }
    }
}

impl Node {
    fn parse(value: &Value, position: usize, inputs: usize) -> Result<Self, String> {
        let object = value.as_object().ok_or("it is not an object")?;
        match text(object, "op")? {
            "input" => {
                let index = key(object, "index")?.as_u64().and_then(|index| usize::try_from(index).ok());
                match index {
                    Some(index) if index < inputs => Ok(Node::Input(index)),
                    _ => Err(format!("there is no such input among {inputs}")),
                }
            }
            "const" => Ok(Node::Constant(real(key(object, "value")?)?)),
            op => {
                let args = naturals(key(object, "args")?).map_err(|error| format!("`args`: {error}"))?;
                if let Some(arg) = args.iter().find(|&&arg| arg >= position) {
                    return Err(format!("its operand {arg} is no earlier node"));
                }
                let attrs = match object.get("attrs") {
                    None | Some(Value::Null) => Object::new(),
                    Some(attrs) => attrs.as_object().ok_or("`attrs` is not an object")?.clone(),
                };
                Ok(Node::Apply { op: op.to_owned(), args, attrs })
            }
        }
    }
}
