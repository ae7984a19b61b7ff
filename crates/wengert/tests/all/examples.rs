//! The worked examples, checked: numbers against closed forms, and every printed report.

#[path = "../../examples/case_studies.rs"]
#[expect(dead_code, reason = "an example's `main` is not called here")]
pub mod case_studies;
#[path = "../../examples/digits_rnn.rs"]
#[expect(dead_code, reason = "an example's `main` is not called here")]
pub mod digits_rnn;
#[path = "../../examples/fit.rs"]
#[expect(dead_code, reason = "an example's `main` is not called here")]
pub mod fit;
#[path = "../../examples/greeks.rs"]
#[expect(dead_code, reason = "an example's `main` is not called here")]
pub mod greeks;
#[path = "../../examples/hanging_chain.rs"]
#[expect(dead_code, reason = "an example's `main` is not called here")]
pub mod hanging_chain;
#[path = "../../examples/kepler.rs"]
#[expect(dead_code, reason = "an example's `main` is not called here")]
pub mod kepler;
#[path = "../../examples/lotka_volterra.rs"]
#[expect(dead_code, reason = "an example's `main` is not called here")]
pub mod lotka_volterra;
#[path = "../../examples/pinn.rs"]
#[expect(dead_code, reason = "an example's `main` is not called here")]
pub mod pinn;

pub use digits_rnn::digits;

pub use crate::examples_linalg::deconvolution::inverse_heat;

use wengert::prelude::*;

/// Within a few units in the last place of the larger one, or of 1.
#[track_caller]
fn assert_close(got: f64, wanted: f64) {
    let bound = 8.0 * f64::EPSILON * got.abs().max(wanted.abs()).max(1.0);
    assert!((got - wanted).abs() <= bound, "{got} where {wanted} is expected");
}

mod case_studies_are_right {
    use super::assert_close;
    use super::case_studies::*;
    use std::io::sink;
    use wengert::{Listing, Operand};

    /// The gradient, the value, and the tangent against the first derivative.
    #[track_caller]
    fn check(list: &Listing, value: f64, gradient: &[f64]) {
        let Some(&Operand::Node(output)) = list.outputs.first() else { panic!("the output is not on the list") };
        assert_eq!(list.inputs, gradient.len());
        assert_close(list.entries[output].value, value);
        for (entry, &wanted) in list.entries.iter().zip(gradient) {
            assert_close(entry.adjoint, wanted);
        }
        assert_close(tangents(list)[output], gradient[0]);
    }

    #[test]
    fn expressions() {
        let (sin, cos) = 2f64.sin_cos();
        check(&scalar_expression(&mut sink()).unwrap(), 5.0 * sin, &[4.0 * sin + 5.0 * cos]);
        let (sin, cos) = 2.25f64.sin_cos();
        check(&shared_intermediate(&mut sink()).unwrap(), 2.25 + sin, &[3.0 * (1.0 + cos)]);
        let (sin, cos) = 5f64.sin_cos();
        check(&two_inputs(&mut sink()).unwrap(), 2f64.ln() + 10.0 - sin, &[5.5, 2.0 - cos]);
    }

    #[test]
    fn a_cotangent_is_pulled_back() {
        let list = vector_jacobian_product(&mut sink()).unwrap();
        let ([c, d], e) = (COTANGENT, 0.5f64.exp());
        // J = [[y, x], [e^x, 2 y]] at (0.5, 3)
        check(&list, c * 1.5 + d * (e + 9.0), &[c * 3.0 + d * e, c * 0.5 + d * 6.0]);
        // the adjoints of the two results are the cotangent
        assert_eq!([list.entries[2].adjoint, list.entries[5].adjoint], COTANGENT);
    }

    #[test]
    fn layers() {
        // W x + b = (2.85, 2.3); r = (1.85, 0.3)
        let linear = [1.85 * 1.5, -1.85 * 2.0, 0.3 * 1.5, -0.3 * 2.0, 1.85, 0.3, 1.85 * 0.5 + 0.6, -1.85 + 0.075];
        check(&linear_layer(&mut sink()).unwrap(), 0.5 * (1.85 * 1.85 + 0.09), &linear);
        // the second unit is at -1.7: off
        let relu = [1.85 * 1.5, -1.85 * 2.0, 0.0, 0.0, 1.85, 0.0, 1.85 * 0.5, -1.85];
        check(&relu_layer(&mut sink()).unwrap(), 0.5 * (1.85 * 1.85 + 4.0), &relu);
    }

    #[test]
    fn softmax() {
        let sum: f64 = LOGITS.iter().map(|z| z.exp()).sum();
        let mut gradient = LOGITS.map(|z| z.exp() / sum);
        gradient[CLASS] -= 1.0;
        check(&softmax_cross_entropy(&mut sink()).unwrap(), sum.ln() - LOGITS[CLASS], &gradient);
    }

    #[test]
    fn backpropagation_through_time() {
        let [w, u] = WEIGHTS;
        let mut states = vec![0.0];
        for x in SIGNAL {
            states.push((w * states[states.len() - 1] + u * x).tanh());
        }
        let error: f64 = states[4] - 0.5;
        // h̄ of the last state, then s̄ = h̄ (1 - h²) of each tanh's argument, and h̄ = w s̄ before it
        let (mut h_bar, mut w_bar, mut u_bar) = (error, 0.0, 0.0);
        for k in (0..4).rev() {
            let s_bar = h_bar * (1.0 - states[k + 1] * states[k + 1]);
            w_bar += s_bar * states[k];
            u_bar += s_bar * SIGNAL[k];
            h_bar = w * s_bar;
        }
        check(&recurrence(&mut sink()).unwrap(), 0.5 * error * error, &[w_bar, u_bar]);
    }

    #[test]
    fn checkpointing_changes_no_bit() {
        let found = checkpointed_chain(&mut sink()).unwrap();
        // dx'/dx = 1 + a cos(a x)/10 and dx'/da = x cos(a x)/10, forward along the chain
        let ([mut x, a], mut dx, mut da) = (START, 1.0, 0.0);
        for _ in 0..STEPS {
            let (sin, cos) = (a * x).sin_cos();
            da = da * (1.0 + a * cos / 10.0) + x * cos / 10.0;
            dx *= 1.0 + a * cos / 10.0;
            x += sin / 10.0;
        }
        check(&found.list, x, &[dx, da]);
        assert_eq!(found.plain.map(f64::to_bits), found.checkpointed.map(f64::to_bits));
        assert_eq!(found.plain, [found.list.entries[0].adjoint, found.list.entries[1].adjoint]);
        // two inputs, and four records a step
        assert_eq!((found.stored, found.recomputed, found.records), (3, 6, [2 + 8 * 4, 2 + 3 * 4]));
    }

    #[test]
    fn the_tiny_engine_agrees() {
        let (list, adjoints) = tiny_engine(&mut sink()).unwrap();
        check(&list, 6.0 + 2f64.sin(), &[3.0 + 2f64.cos(), 2.0]);
        let of_library: Vec<f64> = list.entries.iter().map(|entry| entry.adjoint).collect();
        assert_eq!(of_library, adjoints);
    }

    #[test]
    fn the_report_shows_ten_pairs_of_tables() {
        let mut text = Vec::new();
        report(&mut text).unwrap();
        let text = String::from_utf8(text).unwrap();
        assert_eq!(text.matches("  forward ").count(), 10);
        assert_eq!(text.matches("  reverse ").count(), 10);
        assert!(text.contains("  v3    = v0 * v1                     10.000000000     5.000000000\n"), "{text}");
        assert!(text.contains("  v̄1          1.716337815  d/dx2    = v̄5·0.2837 + v̄3·2\n"), "{text}");
    }
}

mod greeks_are_right {
    use super::greeks::*;
    use wengert::prelude::*;

    #[test]
    fn against_the_closed_forms() {
        let automatic = automatic(&PORTFOLIO);
        let closed: Vec<Greeks> = PORTFOLIO.iter().map(closed_form).collect();
        let mut pairs: Vec<(Greeks, Greeks)> = automatic.iter().copied().zip(closed.iter().copied()).collect();
        pairs.push((total(&automatic), total(&closed)));
        for (k, (a, c)) in pairs.into_iter().enumerate() {
            for (name, (a, c)) in Greeks::NAMES.iter().zip(a.numbers().into_iter().zip(c.numbers())) {
                assert!(relative_error(a, c) < 1e-12, "{name} of position {k}: {a} where {c} is expected");
            }
        }
    }

    #[test]
    fn two_products_hold_what_the_hessian_of_each_position_holds() {
        for (p, greeks) in PORTFOLIO.iter().zip(automatic(&PORTFOLIO)) {
            let point = [100.0, p.volatility, 0.03, 0.0];
            let h = hessian(point, |market| option_value(p, market) * p.quantity);
            for (got, wanted) in [(greeks.gamma, h[0][0]), (greeks.vanna, h[0][1]), (greeks.volga, h[1][1])] {
                assert!(relative_error(got, wanted) < 1e-12, "{got} where {wanted} is expected");
            }
        }
    }

    #[test]
    fn bumping_agrees_to_the_digits_it_has() {
        let (a, b) = (total(&automatic(&PORTFOLIO)), bumped(&PORTFOLIO));
        for (a, b) in a.numbers().into_iter().zip(b.numbers()) {
            assert!(relative_error(b, a) < 1e-4, "{b} where {a} is expected");
        }
    }

    #[test]
    fn the_report_has_a_line_per_position_and_greek() {
        let mut text = Vec::new();
        report(&mut text).unwrap();
        let text = String::from_utf8(text).unwrap();
        assert_eq!(text.lines().filter(|line| line.contains(" call ") || line.contains(" put ")).count(), 10);
        for name in Greeks::NAMES {
            assert!(text.lines().any(|line| line.trim_start().starts_with(name)), "{name} is missing:\n{text}");
        }
    }
}

mod fit_is_right {
    use super::fit::*;
    use super::{assert_close, grad};

    /// `1/n Σ (sigmoid(z) - class) x + λ w`, and the same without the last term for the bias.
    fn closed_gradient(parameters: &[f64], table: &Table) -> Vec<f64> {
        let mut gradient = vec![0.0; parameters.len()];
        let bias = parameters.len() - 1;
        for (x, &first) in table.features.iter().zip(&table.is_first) {
            let z: f64 = score(parameters, x);
            let residual = 1.0 / (1.0 + (-z).exp()) - f64::from(u8::from(first));
            for (g, x) in gradient.iter_mut().zip(x.iter().chain(&[1.0])) {
                *g += residual * x / table.features.len() as f64;
            }
        }
        for (g, w) in gradient[..bias].iter_mut().zip(parameters) {
            *g += LAMBDA * w;
        }
        gradient
    }

    #[test]
    fn the_gradient_is_that_of_the_textbook() {
        let [training, _] = load().unwrap().split();
        let parameters: Vec<f64> = (0..31).map(|k| (k as f64 * 0.7).sin()).collect();
        let gradient = grad(&parameters, |p| objective(&p, &training));
        for (got, wanted) in gradient.into_iter().zip(closed_gradient(&parameters, &training)) {
            assert_close(got, wanted);
        }
    }

    #[test]
    fn the_fit_is_the_minimum_and_tells_the_classes_apart() {
        let [training, held_out] = load().unwrap().split();
        assert_eq!((training.features.len(), held_out.features.len()), (380, 189));
        let (parameters, history) = fit(&training).unwrap();
        // the objective is convex: a vanishing gradient proves the minimum
        assert!(norm(&closed_gradient(&parameters, &training)) < 2.0 * TOLERANCE);
        // where all weights are 0 every sample costs ln 2
        assert_close(history[0].value, 2f64.ln());
        assert!(history.windows(2).all(|pair| pair[1].value <= pair[0].value), "{history:?}");
        // the counts are of this data and this minimum, whatever found it
        assert_eq!(confusion(&parameters, &training), [[139, 4], [1, 236]]);
        let counts = confusion(&parameters, &held_out);
        assert_eq!(counts, [[66, 3], [1, 119]]);
        assert_eq!(accuracy(counts), 185.0 / 189.0);
    }

    #[test]
    fn training_features_have_mean_0_and_variance_1() {
        let [training, _] = load().unwrap().split();
        for k in 0..30 {
            let column: Vec<f64> = training.features.iter().map(|row| row[k]).collect();
            let mean = column.iter().sum::<f64>() / 380.0;
            let variance = column.iter().map(|x| x * x).sum::<f64>() / 380.0;
            assert!(mean.abs() < 1e-12 && (variance - 1.0).abs() < 1e-12, "feature {k}: {mean}, {variance}");
        }
    }

    #[test]
    fn malformed_tables_are_refused_with_line_and_reason() {
        let refused = [
            ("", 1, "the file is empty"),
            ("2,2,a\n", 1, "3 fields where `samples,features,class 0,class 1` is expected"),
            ("two,2,a,b\n", 1, "`two` is not a number of samples"),
            ("2,0,a,b\n", 1, "`0` is not a number of features"),
            ("2,2,a,b\n1,2,0\n3,1\n", 3, "2 fields where 2 features and a class are expected"),
            ("2,2,a,b\n1,2,0,7\n", 2, "4 fields where 2 features and a class are expected"),
            ("2,2,a,b\n1,x,0\n", 2, "field 2 is `x`, not a finite number"),
            ("2,2,a,b\n1,NaN,0\n", 2, "field 2 is `NaN`, not a finite number"),
            ("2,2,a,b\n\n1,2,0\n,4,1\n", 4, "field 1 is ``, not a finite number"),
            ("2,2,a,b\n1,2,2\n", 2, "the class is `2`, not 0 or 1"),
            ("2,2,a,b\n1,2,0\n", 2, "the file ends after 1 samples; its first line says 2"),
            ("1,2,a,b\n1,2,0\n3,4,1\n", 3, "the file ends after 2 samples; its first line says 1"),
        ];
        for (text, line, problem) in refused {
            let error = read_table(text.as_bytes()).err().unwrap_or_else(|| panic!("accepted: {text:?}"));
            assert_eq!(error, DataError { line, problem: problem.to_string() }, "{text:?}");
            assert_eq!(error.to_string(), format!("line {line}: {problem}"));
        }
        let error = read_table(&b"1,1,a,b\n\xff,0\n"[..]).err().unwrap();
        assert_eq!(error.line, 2);
        let table = read_table("2,2,a,b\n1,2,0\n3,-4e1,1\n".as_bytes()).unwrap();
        assert_eq!(table.features, [[1.0, 2.0], [3.0, -40.0]]);
        assert_eq!(table.is_first, [true, false]);
    }

    #[test]
    fn the_report_draws_the_picture() {
        let folder = std::path::Path::new(env!("CARGO_TARGET_TMPDIR")).join("pictures");
        let picture = folder.join("fit.svg");
        let mut text = Vec::new();
        report(&mut text, &picture).unwrap();
        let text = String::from_utf8(text).unwrap();
        assert!(text.contains("held out: accuracy 97.88 %"), "{text}");
        let svg = std::fs::read_to_string(&picture).unwrap();
        assert!(svg.starts_with("<svg ") && svg.trim_end().ends_with("</svg>"));
        for label in ["iteration of L-BFGS", "samples", "malignant", "benign", "concave points", "standard error"] {
            assert!(svg.contains(label), "{label} is missing");
        }
    }
}

mod digits_rnn_is_right {
    use super::digits_rnn::*;
    use wengert::Key;

    /// The gated recurrent unit on numbers, one after the other.
    #[test]
    fn the_network_is_a_gated_recurrent_unit() {
        let sigmoid = |x: f64| 1.0 / (1.0 + (-x).exp());
        let network = Network::new(&Key::new(3));
        let digits = digits::load().unwrap().choose(&wengert::Tensor::iota(2));
        let [w, v, output] = [&network.from_row, &network.from_memory, &network.output].map(|w| w.to_vec());
        let images = digits.images.to_vec();
        let mut wanted = Vec::new();
        for image in images.chunks(64) {
            let mut h = vec![0.0; 64];
            for row in image.chunks(8) {
                let from = |numbers: &[f64], weights: &[f64], column: usize| {
                    numbers.iter().enumerate().map(|(k, x)| x * weights[k * 192 + column]).sum::<f64>()
                };
                let next = |k: usize| {
                    let gate = |part: usize| sigmoid(from(row, &w, part * 64 + k) + from(&h, &v, part * 64 + k));
                    let candidate = (from(row, &w, 128 + k) + gate(1) * from(&h, &v, 128 + k)).tanh();
                    (1.0 - gate(0)) * h[k] + gate(0) * candidate
                };
                h = (0..64).map(next).collect();
            }
            wanted.extend((0..10).map(|digit| (0..64).map(|k| h[k] * output[k * 10 + digit]).sum::<f64>()));
        }
        for (got, wanted) in network.logits(&digits.images).to_vec().into_iter().zip(wanted) {
            assert!((got - wanted).abs() < 1e-12, "{got} where {wanted} is expected");
        }
    }

    #[test]
    fn the_network_learns() {
        let mut text = Vec::new();
        let share = report(&mut text, 6).unwrap();
        let text = String::from_utf8(text).unwrap();
        assert!(share > 0.9, "{text}");
        assert!(text.contains("1437 images to learn from, 360 held out, 8 rows each."), "{text}");
    }
}

mod inverse_heat_is_right {
    use super::inverse_heat::*;
    use std::fs::File;
    use wengert::Tensor;

    /// Against loops over numbers, forwards and backwards: a step is its own transpose, but for the slope of the cube.
    #[test]
    fn the_field_spreads_and_its_gradient_comes_back() {
        let (side, steps) = (6isize, 7);
        let coupled = |u: &[f64], i: isize| {
            let (row, column) = (i / side, i % side);
            let at = |row: isize, column: isize| {
                let inside = (0..side).contains(&row) && (0..side).contains(&column);
                if inside { u[(row * side + column) as usize] } else { 0.0 }
            };
            let neighbours = at(row - 1, column) + at(row + 1, column) + at(row, column - 1) + at(row, column + 1);
            u[i as usize] + 0.2 * (neighbours - 4.0 * u[i as usize])
        };
        let start = before(side as usize);
        let mut course = vec![start.to_vec()];
        for _ in 0..steps {
            let u = course.last().unwrap();
            course.push((0..side * side).map(|i| coupled(u, i) - 0.05 * u[i as usize].powi(3)).collect());
        }
        let (end, back) = wengert::value_and_grad(&start, |u| spread(&u, steps).square().sum() * 0.5);
        let mut wanted = course.pop().unwrap();
        let value = wanted.iter().map(|u| 0.5 * u * u).sum::<f64>();
        assert!((end.item() - value).abs() < 1e-13 * value, "{} where {value} is expected", end.item());
        for u in course.iter().rev() {
            wanted = (0..side * side)
                .map(|i| coupled(&wanted, i) - 0.15 * u[i as usize].powi(2) * wanted[i as usize])
                .collect();
        }
        for (got, wanted) in back.to_vec().into_iter().zip(wanted) {
            assert!((got - wanted).abs() < 1e-13, "{got} where {wanted} is expected");
        }
    }

    #[test]
    fn the_report_recovers_a_field_within_its_memory_and_draws_it() {
        let folder = std::path::Path::new(env!("CARGO_TARGET_TMPDIR")).join("heat");
        let setup = Setup { side: 48, steps: 30, memory: 700_000, iterations: 60 };
        let mut text = Vec::new();
        let [field, later] = report(&mut text, &folder, setup).unwrap();
        let text = String::from_utf8(text).unwrap();
        assert!(field < 0.5 && later < 0.02, "the measurement itself is off by 0.7; {text}");
        let megabytes = |after: &str| -> f64 {
            let (_, rest) = text.split_once(after).expect("the report says it");
            rest.split(' ').next().and_then(|number| number.parse().ok()).expect("a number of megabytes")
        };
        let (all, planned) = (megabytes("A gradient takes "), megabytes("is planned to take "));
        assert!(planned <= 0.7 && all > 0.8, "{text}");
        let png = png::Decoder::new(std::io::BufReader::new(File::open(folder.join("inverse_heat.png")).unwrap()));
        let mut reader = png.read_info().unwrap();
        let mut pixels = vec![0; reader.output_buffer_size().unwrap()];
        let info = reader.next_frame(&mut pixels).unwrap();
        assert_eq!((info.width, info.height), (4 * (384 + 24) + 24 + 64, 384 + 44 + 24));
        // The middle of the first panel: the letter is hot where it has its inner point.
        let pixel = |x: usize, y: usize| &pixels[3 * (y * info.width as usize + x)..][..3];
        assert!(pixel(24 + 384 * 2 / 5, 44 + 384 * 3 / 10)[0] > 200, "the letter is bright");
        assert!(pixel(24 + 380, 44 + 4).iter().all(|&shade| shade < 20), "the corner is dark");
    }

    #[test]
    fn errors_are_relative() {
        assert_eq!(relative_error(&Tensor::from([3.0, 5.0]), &Tensor::from([3.0, 4.0])), 0.2);
    }
}

mod lotka_volterra_is_right {
    use super::lotka_volterra::*;
    use wengert::prelude::*;

    const STEPS: usize = 1000;

    #[test]
    fn the_gradient_through_all_steps_agrees_with_forward_mode() {
        let data = observations(STEPS);
        let point = GUESS.map(f64::ln);
        let gradient = grad(point, |p| misfit(p, STEPS, &data));
        for (k, &got) in gradient.iter().enumerate() {
            let mut p = point.map(Dual::<f64>::constant);
            p[k] = Dual::variable(point[k]);
            let wanted = misfit(p, STEPS, &data).tangent();
            // Rounding of 1000 steps in two different orders.
            assert!((got - wanted).abs() < 1e-11 * wanted.abs(), "{}: {got}, {wanted}", NAMES[k]);
        }
    }

    #[test]
    fn the_parameters_are_found() {
        let mut text = Vec::new();
        let found = report(&mut text, STEPS).unwrap();
        let text = String::from_utf8(text).unwrap();
        for (k, name) in NAMES.iter().enumerate() {
            let deviation = (found.parameters[k] / TRUE[k]).ln() / found.relative_errors[k];
            assert!(deviation.abs() < 3.0, "{name} is {deviation} standard errors off:\n{text}");
            assert!(found.relative_errors[k] < 0.03, "{name} is hardly determined:\n{text}");
        }
        let data = observations(STEPS);
        let at_truth: f64 = misfit(TRUE.map(f64::ln), STEPS, &data);
        assert!(found.misfit[1] < at_truth && at_truth < found.misfit[0]);
        // 200 errors of variance 0.05²: half their sum of squares is 0.25, give or take 0.025.
        assert!((at_truth - 0.25).abs() < 0.1, "{at_truth}");
        assert!(found.gradient_norm < 1e-3, "{}", found.gradient_norm);
        assert!(found.evaluations.iter().all(|&count| count >= found.iterations), "{:?}", found.evaluations);
    }
}

mod pinn_is_right {
    use super::pinn::*;

    #[test]
    fn the_loss_with_second_derivatives_falls() {
        let mut text = Vec::new();
        // The first value and gradient are compared with known ones inside.
        let losses = report(&mut text, 5).unwrap();
        assert!(losses[5] < losses[0], "{}", String::from_utf8(text).unwrap());
    }
}

mod hanging_chain_is_right {
    use super::hanging_chain::*;

    #[test]
    fn the_chain_obeys_mechanics() {
        let chain = hang(40).unwrap();
        let [spread, lying] = misfit(&chain.joints);
        assert!(spread < 1e-7 && lying < 1e-7, "{spread}, {lying}");
        let on_table = chain.joints.iter().filter(|joint| joint[1] < TABLE + 1e-7).count();
        assert!((3..30).contains(&on_table), "{on_table} joints on the table");
        let ends = chain.joints.iter().chain([&[1.0, 0.0]]);
        let length: f64 = ends
            .scan([0.0, 0.0], |last, &[x, y]| {
                let [x0, y0] = std::mem::replace(last, [x, y]);
                Some((x - x0).hypot(y - y0))
            })
            .sum();
        assert!((length - LENGTH).abs() < 1e-9);
        // Two links have four numbers each, and meet in a joint: its neighbours' and its own place, in each direction.
        assert_eq!(chain.entries, [4 * 40 - 4, 2 * (39 + 38)]);
    }
}

mod kepler_is_right {
    use super::kepler::*;
    use wengert::prelude::*;

    /// `dE/dM = 1 / d`, `dE/de = sin E / d` and their derivatives, with `d = 1 - e cos E`.
    #[test]
    fn derivatives_of_the_first_and_second_order_are_those_of_the_equation() {
        let rule = kepler().unwrap();
        for (m, e) in [(0.0, 0.3), (0.7, 0.0), (2.5, 0.6), (-1.2, 0.9), (9.0, 0.967), (0.01, 0.995)] {
            let x = solve(m, e).unwrap();
            assert!((x - e * x.sin() - m).abs() <= 4.0 * f64::EPSILON * m.abs().max(1.0), "{m}, {e}: {x}");
            let (sin, cos) = x.sin_cos();
            let d = 1.0 - e * cos;
            let f = |(m, e): (Tensor, Tensor)| rule.call(&[&m, &e])[0].sum();
            let (value, slopes, h) = value_grad_and_hessian((&Tensor::from(m), &Tensor::from(e)), f);
            let by_m = -e * sin / d.powi(3);
            let mixed = (cos / d - e * sin * sin / (d * d)) / d;
            let by_e = 2.0 * sin * cos / (d * d) - e * sin.powi(3) / d.powi(3);
            let got = [&[value.item(), slopes.0.item(), slopes.1.item()][..], &h.dense().to_vec()].concat();
            for (got, want) in got.iter().zip([x, 1.0 / d, sin / d, by_m, mixed, mixed, by_e]) {
                assert!((got - want).abs() <= 1e-11 * want.abs().max(1.0), "{m}, {e}: {got} instead of {want}");
            }
        }
        let error = rule.try_call(&[&Tensor::from(1.0), &Tensor::from(1.5)]).unwrap_err().to_string();
        assert!(error.contains("`kepler`") && error.contains("the eccentricity is 1.5"), "{error}");
    }

    #[test]
    fn the_orbit_is_found_again() {
        let (times, places) = observations();
        let fit = fit(&times, &places, [16.0, 0.93, 0.15]).unwrap();
        for (got, want) in fit.orbit.to_vec().iter().zip(HALLEY) {
            assert!((got - want).abs() < 1e-10 * want, "{got} instead of {want}");
        }
        // Where nothing is left, the Hessian is that of Gauss and Newton.
        let rule = kepler().unwrap();
        let slopes = jacobian(&fit.orbit, |orbit| positions(&rule, &orbit, &times).reshape(&[-1]));
        let want = slopes.swap_axes(0, 1).matmul(&slopes);
        assert!((fit.hessian - &want).abs().max().item() < 1e-8 * want.abs().max().item());
    }
}
