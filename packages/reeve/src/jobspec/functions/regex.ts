import { compileRegex, type Matcher, type RE2JS } from '@reeve/kit/regex.ts'
import { err, ok, type Result } from '@reeve/kit/result.ts'
import {
  makeObject,
  type FunctionDefinition,
  type FunctionError,
  type StepBudget,
  type Value,
} from '@reeve/hcl'
import { text } from './argument.ts'
import { define, chargeSteps, failArgument } from './define.ts'
import {
  PATTERN_CHARACTERS_MAX,
  PATTERN_CHARACTERS_PER_STEP,
  PATTERN_INSTRUCTIONS_FREE,
  PATTERN_INSTRUCTIONS_MAX,
  PATTERN_INSTRUCTIONS_PER_STEP,
} from './limits.ts'
import { boundedString } from './text/produced-text.ts'

/** Regular expressions with linear matching time, so that a job file cannot block the server. */
export const regexFunctions: Readonly<Record<string, FunctionDefinition>> = {
  regex: define([text('pattern'), text('string')], ([pattern, string], meter) => {
    const regex = compilePattern(pattern, 0)
    if (!regex.ok) return regex
    const search = new Search(regex.value, string, meter)
    const isFound = search.next()
    if (!isFound.ok) return isFound
    return isFound.value ? toCaptureValue(search) : failArgument(1, 'string does not match pattern')
  }),
  regex_replace: define(
    [text('str'), text('pattern'), text('replace')],
    ([str, pattern, replace], meter) => {
      const regex = compilePattern(pattern, 1)
      if (!regex.ok) return regex
      const pieces = replacePieces(new Search(regex.value, str, meter), replace)
      if (!pieces.ok) return pieces
      const length = pieces.value.reduce((sum, one) => sum + one.length, 0)
      return boundedString(meter, length, () => pieces.value.join(''))
    },
  ),
  regexall: define([text('pattern'), text('string')], ([pattern, string], meter) => {
    const regex = compilePattern(pattern, 0)
    if (!regex.ok) return regex
    const search = new Search(regex.value, string, meter)
    const all: Value[] = []
    for (;;) {
      const isFound = search.next()
      if (!isFound.ok) return isFound
      if (!isFound.value) return ok(all)
      const captures = toCaptureValue(search)
      if (!captures.ok) return captures
      all.push(captures.value)
    }
  }),
}

const PATTERN_LIMITS = {
  lengthMax: PATTERN_CHARACTERS_MAX,
  // The estimate may be a few times too high.
  sizeMax: 4 * PATTERN_INSTRUCTIONS_MAX,
  instructionsMax: PATTERN_INSTRUCTIONS_MAX,
}

function compilePattern(pattern: string, argument: number): Result<RE2JS, FunctionError> {
  const compiled = compileRegex(pattern, PATTERN_LIMITS)
  if (compiled.ok) return ok(compiled.value.regex)
  const { kind, message } = compiled.error
  return failArgument(
    argument,
    kind === 'invalid' ? `pattern is not valid: ${message}` : `pattern is ${message}`,
  )
}

/** Iterates over the matches of a pattern in a text, from left to right. */
class Search {
  readonly text: string
  readonly matcher: Matcher
  readonly names: readonly string[]
  readonly #meter: StepBudget
  readonly #stepsPerCharacter: number
  #from = 0

  constructor(regex: RE2JS, subject: string, meter: StepBudget) {
    this.text = subject
    this.matcher = regex.matcher(subject)
    this.names = Object.keys(regex.namedGroups())
    this.#meter = meter
    const slowCount = Math.max(0, regex.programSize() - PATTERN_INSTRUCTIONS_FREE)
    this.#stepsPerCharacter =
      1 / PATTERN_CHARACTERS_PER_STEP + slowCount / PATTERN_INSTRUCTIONS_PER_STEP
  }

  /** Charges for the whole rest, because one search may scan all of it. */
  next(): Result<boolean, FunctionError> {
    const rest = this.text.length - this.#from
    const paid = chargeSteps(this.#meter, 1 + rest * this.#stepsPerCharacter)
    if (!paid.ok) return paid
    const isFound = this.matcher.find()
    if (isFound) this.#from = this.matcher.end()
    return ok(isFound)
  }
}

/** The match; or its groups, as a list or, if they are named, as an object. */
function toCaptureValue({ matcher, names }: Search): Result<Value, FunctionError> {
  const count = matcher.groupCount()
  if (count === 0) return ok(matcher.group(0))
  if (names.length === 0)
    return ok(Array.from({ length: count }, (_, index) => matcher.group(index + 1)))
  if (names.length < count)
    return err({ message: 'pattern must name all of its groups or none of them', argument: 0 })
  return ok(makeObject(names.map((name): [string, Value] => [name, matcher.group(name)])))
}

/** The parts of the text with all matches replaced. */
function replacePieces(search: Search, replace: string): Result<readonly string[], FunctionError> {
  const parts = parseReplacement(replace)
  const pieces: string[] = []
  let copied = 0
  for (;;) {
    const isFound = search.next()
    if (!isFound.ok) return isFound
    if (!isFound.value) break
    const { matcher } = search
    pieces.push(search.text.slice(copied, matcher.start()))
    for (const part of parts) pieces.push(expand(part, search))
    copied = matcher.end()
  }
  pieces.push(search.text.slice(copied))
  return ok(pieces)
}

type Part = { readonly text: string } | { readonly group: string }

const REFERENCE = /\$(?:\$|(\w+)|\{(\w+)\})/g

/**
 * Parses `$1`, `${1}`, `$name`, `${name}` and `$$`. Names are as long as possible: `$1x` is the
 * name `1x`.
 */
function parseReplacement(replace: string): readonly Part[] {
  const parts: Part[] = []
  let at = 0
  for (const match of replace.matchAll(REFERENCE)) {
    parts.push({ text: replace.slice(at, match.index) })
    const group = match[1] ?? match[2]
    parts.push(group === undefined ? { text: '$' } : { group })
    at = match.index + match[0].length
  }
  parts.push({ text: replace.slice(at) })
  return parts.filter((part) => !('text' in part) || part.text !== '')
}

/** A group that does not exist or did not match is empty. */
function expand(part: Part, { matcher, names }: Search): string {
  if ('text' in part) return part.text
  const { group } = part
  if (/^[0-9]+$/.test(group))
    return Number(group) <= matcher.groupCount() ? (matcher.group(Number(group)) ?? '') : ''
  return names.includes(group) ? (matcher.group(group) ?? '') : ''
}
