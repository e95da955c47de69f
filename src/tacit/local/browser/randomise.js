// Randomises an answer in the respondent's browser. Only the report leaves the browser.
// The distributions are those of tacit.local, and a test compares both. Every coin is exact:
// it uses integers from the browser's cryptographic generator, no floating point and no seed.
"use strict";

function cryptographicWord() {
  return crypto.getRandomValues(new Uint32Array(1))[0];
}

// A uniform integer from 0 to size - 1. Words beyond the last full multiple of size are thrown
// away, so that all integers are equally likely.
function below(size, word) {
  const usable = 2 ** 32 - (2 ** 32 % size);
  let drawn = word();
  while (drawn >= usable) drawn = word();
  return drawn % size;
}

// True with probability numerator / denominator.
function coin([numerator, denominator], word) {
  return below(denominator, word) < numerator;
}

// A set of `size` choices that contains the true one with probability `kept`.
function subset({ choices, size, kept }, answer, word) {
  const others = [...Array(choices).keys()].filter((choice) => choice !== answer);
  for (let place = 0; place < size; place++) { // the first steps of a Fisher-Yates shuffle
    const chosen = place + below(others.length - place, word);
    [others[place], others[chosen]] = [others[chosen], others[place]];
  }
  const reported = others.slice(0, size);
  if (coin(kept, word)) reported[size - 1] = answer;
  return reported.sort((a, b) => a - b); // the order must not reveal the true answer
}

// A number from 0 to steps as one bit: 1 with probability number / steps, then randomised.
function oneBit({ steps, truth }, number, word) {
  const rounded = below(steps, word) < number;
  return [Number(coin(truth, word) ? rounded : !rounded)];
}

// A number from 0 to steps as an integer within reach of it, or as any other integer.
function piecewise({ steps, reach, near }, number, word) {
  const window = 2 * reach + 1;
  if (coin(near, word)) return [number + below(window, word)];
  const outside = below(steps, word);
  return [outside < number ? outside : outside + window];
}

const randomisers = { subset, oneBit, piecewise };

function randomise(recipe, answer, word = cryptographicWord) {
  return randomisers[recipe.kind](recipe, answer, word);
}
