//! How each system takes a gradient: the call its documentation recommends for repeated use.
//!
//! A gradient starts from plain numbers and ends in plain numbers, so the inputs' registration and the copying of the
//! result count. Memory is reused between calls wherever the system can: echidna pools its tape by itself, xad-rs takes the
//! tape by reference, RustQuant and ad_trait clear theirs and keep the allocation.

use RustQuant_autodiff::{Accumulate, Gradient as _, Graph};
use ad_trait::reverse_ad::adr::adr;
use nalgebra::SVector;
use num_dual::DualSVec64;

use crate::formulas::Workload;
use crate::hand;
use crate::numbers::Adr;

/// Writes the gradient at the first slice into the second, which has the same length.
pub(crate) type Gradient = Box<dyn FnMut(&[f64], &mut [f64])>;

/// A system that takes gradients.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum System {
    /// Adjoints written by hand.
    Hand,
    /// `echidna::grad`.
    Echidna,
    /// `echidna::record` once, not timed, then `gradient_with_buf`: operations are evaluated again, not recorded again.
    EchidnaReplay,
    /// `Variable::accumulate`.
    RustQuant,
    /// `compute_gradient_rev_with`.
    XadRs,
    /// `compute_gradient_fwd_k` with six lanes.
    XadRsForward,
    /// `adr` on the thread's graph, as the method `ReverseAD` does it.
    AdTrait,
    /// `num_dual::gradient` with six static entries.
    NumDual,
}

impl System {
    /// All systems, in the order of the report.
    pub(crate) const ALL: [Self; 8] = [
        Self::Hand,
        Self::Echidna,
        Self::EchidnaReplay,
        Self::RustQuant,
        Self::XadRs,
        Self::XadRsForward,
        Self::AdTrait,
        Self::NumDual,
    ];

    /// The name in reports and requests.
    pub(crate) fn name(self) -> &'static str {
        match self {
            Self::Hand => "hand",
            Self::Echidna => "echidna",
            Self::EchidnaReplay => "echidna-replay",
            Self::RustQuant => "RustQuant",
            Self::XadRs => "xad-rs",
            Self::XadRsForward => "xad-rs-forward",
            Self::AdTrait => "ad_trait",
            Self::NumDual => "num-dual",
        }
    }

    /// The system of that name.
    pub(crate) fn from_name(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|system| system.name() == name)
    }

    /// What is timed.
    pub(crate) fn mode(self) -> &'static str {
        match self {
            Self::Hand => "hand",
            Self::Echidna | Self::RustQuant | Self::XadRs | Self::AdTrait => "record+reverse",
            Self::EchidnaReplay => "replay+reverse",
            Self::XadRsForward | Self::NumDual => "forward",
        }
    }

    /// Why a system is not measured on a workload.
    pub(crate) fn skips(self, workload: Workload) -> Option<&'static str> {
        let forward = self.mode() == "forward";
        (forward && workload != Workload::LotkaVolterra)
            .then_some("forward mode grows with the number of inputs; measured where there are six")
    }

    /// Allocates what is reused between gradients; `skips` must not hold.
    pub(crate) fn prepare(self, workload: Workload) -> Gradient {
        let constants = workload.constants();
        match self {
            Self::Hand => {
                let mut scratch = Vec::new();
                Box::new(move |x, g| {
                    hand::gradient(workload, x, &constants, g, &mut scratch);
                })
            }
            Self::Echidna => Box::new(move |x, g| {
                g.copy_from_slice(&echidna::grad(|x| workload.evaluate(x, &constants), x));
            }),
            Self::EchidnaReplay => {
                let record = |x: &[echidna::BReverse<f64>]| workload.evaluate(x, &constants);
                let (mut tape, _) = echidna::record(record, &workload.inputs());
                let mut adjoints = Vec::new();
                Box::new(move |x, g| {
                    g.copy_from_slice(&tape.gradient_with_buf(x, &mut adjoints));
                })
            }
            Self::RustQuant => {
                let graph = Graph::new();
                Box::new(move |x, g| {
                    graph.clear();
                    let x = graph.vars(x);
                    let adjoints = workload.evaluate(&x, &constants).accumulate();
                    g.copy_from_slice(&adjoints.wrt(&x));
                })
            }
            Self::XadRs => {
                let mut tape = xad_rs::Tape::new(false);
                Box::new(move |x, g| {
                    let f = |x: &[xad_rs::AReal<f64>]| workload.evaluate(x, &constants);
                    let (_, gradient) = xad_rs::compute_gradient_rev_with(&mut tape, x, f);
                    g.copy_from_slice(&gradient);
                })
            }
            Self::XadRsForward => Box::new(move |x, g| {
                let f = |x: &[xad_rs::JetK<f64, 6>]| workload.evaluate(x, &constants);
                let (_, gradient) = xad_rs::compute_gradient_fwd_k::<6, _>(x, f);
                g.copy_from_slice(&gradient);
            }),
            Self::AdTrait => Box::new(move |x, g| {
                let variable = |(i, &x)| Adr(adr::new_variable(x, i == 0));
                let x: Vec<Adr> = x.iter().enumerate().map(variable).collect();
                let adjoints = workload.evaluate(&x, &constants).0.get_backwards_mode_grad();
                for (g, x) in g.iter_mut().zip(&x) {
                    *g = adjoints.wrt(&x.0);
                }
            }),
            Self::NumDual => Box::new(move |x, g| {
                let f = |x: SVector<DualSVec64<6>, 6>| workload.evaluate(x.as_slice(), &constants);
                let (_, gradient) = num_dual::gradient(f, &SVector::from_column_slice(x));
                g.copy_from_slice(gradient.as_slice());
            }),
        }
    }
}
