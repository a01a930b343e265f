import { ok } from '@reeve/kit/result.ts'
import type { FunctionDefinition, StepBudget } from '@reeve/hcl'
import { text, strings, integer } from '../argument.ts'
import { countGraphemes, splitGraphemes } from './character.ts'
import { define, defineVariadic, chargeSteps, type FunctionResult } from '../define.ts'
import { CLUSTER_CHARACTERS_PER_STEP, INDENT_SPACES_MAX } from '../limits.ts'
import { boundedString } from './produced-text.ts'

const ASCII = /^[\0-\x7f]*$/

const WORD = /^[\p{L}\p{Nd}_]$/u
const SPACE = /^\p{White_Space}$/u

export const textFunctions: Readonly<Record<string, FunctionDefinition>> = {
  chomp: define([text('str')], ([str]) => ok(trimEnd(str, (one) => one === '\n' || one === '\r'))),
  endswith: define([text('str'), text('suffix')], ([str, suffix]) => ok(str.endsWith(suffix))),
  indent: define(
    [integer('spaces', { min: 0, max: INDENT_SPACES_MAX }), text('str')],
    ([spaces, str], meter) => indent(spaces, str, meter),
  ),
  join: defineVariadic(
    { parameters: [text('separator')], rest: strings('lists'), countMin: 1 },
    ([separator], lists, meter) => join(separator, lists.flat(), meter),
  ),
  lower: define([text('str')], ([str]) => ok(toLower(str))),
  replace: define([text('str'), text('substr'), text('replace')], ([str, substr, by], meter) =>
    replaceAll(str, { substr, by }, meter),
  ),
  split: define([text('separator'), text('str')], ([separator, str]) =>
    ok(separator === '' ? [...str] : str.split(separator)),
  ),
  startswith: define([text('str'), text('prefix')], ([str, prefix]) => ok(str.startsWith(prefix))),
  strcontains: define([text('str'), text('substr')], ([str, substr]) => ok(str.includes(substr))),
  strlen: define([text('str')], ([str], meter) => {
    const paid = chargeGraphemes(str, meter)
    return paid.ok ? ok(countGraphemes(str)) : paid
  }),
  strrev: define([text('str')], ([str], meter) => {
    const paid = chargeGraphemes(str, meter)
    return paid.ok ? ok(splitGraphemes(str).toReversed().join('')) : paid
  }),
  substr: define(
    [text('str'), integer('offset'), integer('length')],
    ([str, offset, length], meter) => {
      const paid = chargeGraphemes(str, meter)
      if (!paid.ok) return paid
      const characters = splitGraphemes(str)
      const start = Math.max(0, offset < 0 ? offset + characters.length : offset)
      return ok(characters.slice(start, length < 0 ? undefined : start + length).join(''))
    },
  ),
  title: define([text('str')], ([str]) => ok(toTitle(str))),
  trim: define([text('str'), text('cutset')], ([str, cutset]) => {
    const cut = new Set(cutset)
    return ok(trimBoth(str, (one) => cut.has(one)))
  }),
  trimprefix: define([text('str'), text('prefix')], ([str, prefix]) =>
    ok(str.startsWith(prefix) ? str.slice(prefix.length) : str),
  ),
  trimspace: define([text('str')], ([str]) => ok(trimBoth(str, (one) => SPACE.test(one)))),
  trimsuffix: define([text('str'), text('suffix')], ([str, suffix]) =>
    ok(str.endsWith(suffix) ? str.slice(0, str.length - suffix.length) : str),
  ),
  upper: define([text('str')], ([str]) => ok(toUpper(str))),
}

function chargeGraphemes(str: string, meter: StepBudget) {
  return chargeSteps(meter, str.length / CLUSTER_CHARACTERS_PER_STEP)
}

/** The first line is not indented, because it usually continues a line. */
function indent(spaces: number, str: string, meter: StepBudget): FunctionResult {
  const lines = str.split('\n')
  const length = str.length + (lines.length - 1) * spaces
  return boundedString(meter, length, () => lines.join(`\n${' '.repeat(spaces)}`))
}

function join(separator: string, items: readonly string[], meter: StepBudget): FunctionResult {
  const ownLength = items.reduce((sum, one) => sum + one.length, 0)
  const length = ownLength + separator.length * Math.max(0, items.length - 1)
  return boundedString(meter, length, () => items.join(separator))
}

/** An empty search string matches before every character and at the end. */
function replaceAll(
  str: string,
  { substr, by }: { readonly substr: string; readonly by: string },
  meter: StepBudget,
): FunctionResult {
  const pieces = substr === '' ? ['', ...str, ''] : str.split(substr)
  if (str === '' && substr === '') return ok(by)
  return join(by, pieces, meter)
}

/** A loop from both ends: a regular expression would be quadratic in long runs. */
function trimBoth(str: string, isCut: (character: string) => boolean): string {
  const rest = trimEnd(str, isCut)
  let start = 0
  for (const one of rest) {
    if (!isCut(one)) break
    start += one.length
  }
  return rest.slice(start)
}

function trimEnd(str: string, isCut: (character: string) => boolean): string {
  let end = str.length
  while (end > 0) {
    const one = lastCharacter(str, end)
    if (!isCut(one)) break
    end -= one.length
  }
  return str.slice(0, end)
}

/** The code point that ends at the offset. */
function lastCharacter(str: string, end: number): string {
  const code = end >= 2 ? str.codePointAt(end - 2) : undefined
  return code !== undefined && code > 0xffff ? str.slice(end - 2, end) : str.slice(end - 1, end)
}

/**
 * Converts case by code point: the number of characters stays the same, and no conversion depends
 * on context. So `ß` has no upper case, and a final sigma is not special.
 */
function toUpper(str: string): string {
  return ASCII.test(str) ? str.toUpperCase() : [...str].map(upperOf).join('')
}

function toLower(str: string): string {
  return ASCII.test(str) ? str.toLowerCase() : [...str].map(lowerOf).join('')
}

function upperOf(character: string): string {
  const upper = character.toUpperCase()
  return isSingleCodePoint(upper) ? upper : character
}

/** Only `İ` has a lower case of two code points: the dot is dropped. */
function lowerOf(character: string): string {
  const [first = character] = character.toLowerCase()
  return first
}

function isSingleCodePoint(str: string): boolean {
  return str.length === String.fromCodePoint(str.codePointAt(0) ?? 0).length
}

/** Capitalizes the first letter of every word; a word starts after any separator. */
function toTitle(str: string): string {
  let isStart = true
  let title = ''
  for (const character of str) {
    title += isStart ? upperOf(character) : character
    isStart = isSeparator(character)
  }
  return title
}

/**
 * All ASCII characters except letters, digits and underscores separate words; of the others only
 * spaces do.
 */
function isSeparator(character: string): boolean {
  if (WORD.test(character)) return false
  return ASCII.test(character) || SPACE.test(character)
}
