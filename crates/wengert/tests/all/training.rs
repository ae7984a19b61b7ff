//! The examples that train models: what they learn, that a run goes on where it was stopped, what is in their files.

#[path = "../../examples/mlp.rs"]
#[expect(dead_code, reason = "an example's `main` is not called here")]
pub mod mlp;
#[path = "../../examples/transformer.rs"]
#[expect(dead_code, reason = "an example's `main` is not called here")]
pub mod transformer;

mod digits_are_read {
    use crate::examples::digits::*;
    use wengert::Key;
    use wengert::prelude::*;

    #[test]
    fn the_images_are_those_of_the_file() {
        let digits = load().unwrap();
        assert_eq!((digits.count(), digits.images.shape()), (1797, &[1797, PIXELS][..]));
        assert_eq!((digits.images.min().item(), digits.images.max().item()), (0.0, 1.0));
        assert_eq!(digits.labels.to_vec()[..10], [0.0, 1.0, 2.0, 3.0, 4.0, 5.0, 6.0, 7.0, 8.0, 9.0]);
        let [training, held_out] = digits.split(&Key::new(1));
        assert_eq!((training.count(), held_out.count()), (1437, 360));
        // every image is in one of the parts
        assert_eq!(training.labels.sum().item() + held_out.labels.sum().item(), digits.labels.sum().item());
    }

    #[test]
    fn malformed_lines_are_refused_with_their_number() {
        let line = |pixels: usize, digit: u8| format!("{}{digit}\n", "3,".repeat(pixels));
        let refused = [
            (line(64, 1) + &line(63, 1), "line 2: 64 numbers where 64 pixels and a digit are expected"),
            (line(64, 10), "line 1: pixels are 0 to 16, digits 0 to 9"),
            (line(64, 1).replacen('3', "17", 1), "line 1: pixels are 0 to 16, digits 0 to 9"),
            (line(64, 1).replacen('3', "x", 1), "line 1: `x` is not a number from 0 to 255"),
        ];
        for (text, problem) in refused {
            assert_eq!(read_digits(text.as_bytes()).unwrap_err(), problem);
        }
        assert_eq!(read_digits(line(64, 9).as_bytes()).unwrap().labels.to_vec(), [9.0]);
    }

    /// To the bit, parameters, optimiser, order of the images and losses: the file has all of it.
    #[test]
    fn a_run_that_was_stopped_ends_as_one_that_was_not() {
        let folder = std::path::Path::new(env!("CARGO_TARGET_TMPDIR")).join("resume");
        std::fs::create_dir_all(&folder).unwrap();
        let [training, held_out] = load().unwrap().choose(&wengert::Tensor::iota(200)).split(&Key::new(1));
        let start = |epochs| Training::new(Network::new(&Key::new(3)), epochs, &Key::new(4));
        let file = folder.join("whole.safetensors");
        let whole = train(start(3), &training, &held_out, &file).unwrap();

        let file = folder.join("stopped.safetensors");
        let stopped = start(3).pass(&training, &held_out);
        wengert::files::save(&file, &stopped).unwrap();
        // The program ends here, and begins again without what it had.
        let resumed = wengert::files::load(&file, &start(3)).unwrap();
        assert_eq!((resumed.epochs(), resumed.optimiser.steps()), (1, 3));
        let resumed = train(resumed, &training, &held_out, &file).unwrap();
        for ((path, wanted), (_, got)) in whole.named_leaves().into_iter().zip(resumed.named_leaves()) {
            assert!(wanted.to_array().same_bits(&got.to_array()), "{path}: {got:?} where {wanted:?} is expected");
        }
        // What the file has not, the comparison would show: another order of the images ends elsewhere.
        let other = Training { key: Key::new(5), ..stopped };
        let other = train(other, &training, &held_out, &file).unwrap();
        assert_ne!(other.network.hidden.weight.to_vec(), whole.network.hidden.weight.to_vec());
        let error = wengert::files::load(&file, &start(4)).unwrap_err().to_string();
        assert!(error.contains("`losses` is f64[3,2] in the file and f64[4,2] in the tree"), "{error}");
    }

    #[test]
    fn a_few_epochs_teach_most_of_it() {
        let folder = std::path::Path::new(env!("CARGO_TARGET_TMPDIR")).join("digits");
        let mut text = Vec::new();
        let share = report(&mut text, &folder, 4, Start::Anew).unwrap();
        let text = String::from_utf8(text).unwrap();
        assert!(share > 0.9, "{text}");
        let mut text = Vec::new();
        assert_eq!(report(&mut text, &folder, 4, Start::Resumed).unwrap(), share);
        assert!(String::from_utf8(text).unwrap().contains("Resumed after epoch 4 of 4."));
        let svg = std::fs::read_to_string(folder.join("digits.svg")).unwrap();
        assert!(svg.trim_end().ends_with("</svg>") && svg.contains("held out"));
    }
}

mod mlp_is_right {
    use super::mlp::*;

    #[test]
    fn a_network_that_was_read_tells_the_moons_apart() {
        let file = std::path::Path::new(env!("CARGO_TARGET_TMPDIR")).join("mlp.safetensors");
        let mut text = Vec::new();
        let share = report(&mut text, &file).unwrap();
        let text = String::from_utf8(text).unwrap();
        assert!(share > 0.98, "{text}");
        assert!(
            text.contains("hidden.1.linear.weight: f64[16,16]") && text.contains("hidden.0.slope: f64[16]"),
            "{text}"
        );
    }
}

mod transformer_is_right {
    use super::transformer::*;
    use wengert::prelude::*;

    #[test]
    fn every_example_has_its_gradient_and_a_bounded_part_of_the_step() {
        let mut text = Vec::new();
        // That the gradients are those of the sequences alone is checked inside.
        let [first, last] = report(&mut text, 8).unwrap();
        assert!(last < 0.9 * first, "{}", String::from_utf8(text).unwrap());
        let gradients = per_example(&Model::new(&wengert::Key::new(1)), &sequences());
        let still = private(&gradients, 1e-3, 0.0, &wengert::Key::new(1));
        // Sixteen gradients of the norm 1e-3: their mean is no longer.
        assert!(wengert::TreeMath::norm(&still).item() <= 1e-3 * (1.0 + 1e-12));
        let mean = gradients.map_leaves(|_, leaf| leaf.mean_over(0));
        let loose = private(&gradients, 1e6, 0.0, &wengert::Key::new(1));
        let error = wengert::TreeMath::norm(&(&mean - &loose)).item();
        assert!(error <= 1e-12 * wengert::TreeMath::norm(&mean).item(), "a bound that nothing reaches changes nothing");
    }
}
