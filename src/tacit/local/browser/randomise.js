// Makes a report from an answer, in the respondent's own browser: what leaves it is the report.
// The laws are those of tacit.local, and a test draws from both. Every coin is exact: integers
// from the browser's cryptographic generator, no floating point, no seed.
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

// So many of the choices; the true one is among them with probability `kept`.
function subset({ choices, size, kept }, answer, word) {
  const others = [...Array(choices).keys()].filter((choice) => choice !== answer);
  for (let place = 0; place < size; place++) { // the first steps of a Fisher-Yates shuffle
    const chosen = place + below(others.length - place, word);
    [others[place], others[chosen]] = [others[chosen], others[place]];
  }
  const told = others.slice(0, size);
  if (coin(kept, word)) told[size - 1] = answer;
  return told.sort((a, b) => a - b); // their order must not tell
}

// A number from 0 to steps as one bit: 1 with probability number / steps, then told truly or not.
function oneBit({ steps, truth }, number, word) {
  const rounded = below(steps, word) < number;
  return [Number(coin(truth, word) ? rounded : !rounded)];
}

// A number from 0 to steps as one of its neighbours within reach, or as any integer that is not.
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
