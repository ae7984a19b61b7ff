//! Tests of what is private here.

use wengert_kernels::region::{Op, Region};

use crate::plan::{Options, Plan, StepWork};

fn code(text: &str) -> Vec<Op> {
    let plan = Plan::new(&text.parse().unwrap_or_else(|why| panic!("{why}")), &Options::default()).unwrap();
    let region = |region: &Region| region.parts().code.iter().map(|instr| instr.op).collect::<Vec<Op>>();
    match plan.steps() {
        [step] if let StepWork::Region(own) = &step.work => region(own),
        steps => panic!("{steps:?}"),
    }
}

#[test]
fn what_is_only_copied_is_loaded_to_where_it_is_stored() {
    let copied = |result: &str| {
        format!(
            "program(v0: f64[30,1,4]) {{
                    v1: f64[30,4] = reshape[shape=[30,4]] v0;
                    v2: f64[30,20,4] = broadcast[shape=[30,20,4], axes=[0,2]] v1;
                    v3: f64[30,20,4] = detach v2;
                    {result}
                }}"
        )
    };
    assert!(matches!(code(&copied("return v3"))[..], [Op::Load(_)]));
    // What others need stays in a slot.
    let others = code(&copied("v4: f64[30,20,4] = exp v2; return v3 v4"));
    assert!(matches!(others[..], [Op::Load(_), Op::Unary(..), Op::Unary(..)]), "{others:?}");
}
