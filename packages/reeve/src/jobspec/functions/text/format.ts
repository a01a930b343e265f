import { err, ok, type Result } from '@reeve/kit/result.ts'
import {
  CHARACTERS_PER_STEP,
  isList,
  quoteText,
  type FunctionDefinition,
  type FunctionError,
  type StepBudget,
  type Value,
} from '@reeve/hcl'
import { any, text } from '../argument.ts'
import { defineVariadic, chargeSteps, fail, failArgument, type FunctionResult } from '../define.ts'
import { formatValue, type FormatVerb } from './format-verb.ts'
import { FORMAT_WIDTH_MAX } from '../limits.ts'

export const formatFunctions: Readonly<Record<string, FunctionDefinition>> = {
  format: defineVariadic(
    { parameters: [text('format')], rest: any('args') },
    ([format], args, meter) => formatText(format, args, meter),
  ),
  formatlist: defineVariadic(
    { parameters: [text('format')], rest: any('args') },
    ([format], args, meter) => formatList(format, args, meter),
  ),
}

/** Lists must be equally long and supply one element per result; other arguments are repeated. */
function formatList(format: string, args: readonly Value[], meter: StepBudget): FunctionResult {
  const longest = args.find(isList)
  const roundCount = longest?.length ?? 1
  for (const [index, one] of args.entries())
    if (isList(one) && one.length !== roundCount)
      return failArgument(
        index + 1,
        `all lists must have the same length, but this one has ${one.length} elements and the first ${roundCount}`,
      )
  const results: string[] = []
  for (let round = 0; round < roundCount; round++) {
    const values = args.map((one) => (isList(one) ? (one[round] ?? null) : one))
    const result = formatText(format, values, meter)
    if (!result.ok) return fail(`in round ${round}: ${result.error.message}`)
    results.push(result.value)
  }
  return ok(results)
}

/** `%`, flags, `[1]`, width, precision, `[1]` again, letter. */
const VERB =
  /%([0#\-+ ]*)(?:\[([1-9][0-9]*)\])?([1-9][0-9]*)?(?:\.([0-9]*))?(?:\[([1-9][0-9]*)\])?([a-zA-Z])/y

function formatText(
  format: string,
  args: readonly Value[],
  meter: StepBudget,
): Result<string, FunctionError> {
  const pieces: string[] = []
  let length = 0
  let nextIndex = 0
  let usedCount = 0
  for (let at = 0; at < format.length;) {
    const piece = takePiece(format, at, { args, nextIndex })
    if (!piece.ok) return err({ message: piece.error, argument: 0 })
    const { text: produced, end, measured, nextIndex: next } = piece.value
    nextIndex = next
    usedCount = Math.max(usedCount, next)
    at = end
    length += produced.length
    if (length > meter.limits.stringLengthMax)
      return fail(`the result would be longer than ${meter.limits.stringLengthMax} characters`)
    const paid = chargeSteps(meter, 1 + measured + produced.length / CHARACTERS_PER_STEP)
    if (!paid.ok) return paid
    pieces.push(produced)
  }
  if (usedCount < args.length)
    return failArgument(
      usedCount + 1,
      `there are ${args.length} value(s) to format, but the format uses only ${usedCount}`,
    )
  return ok(pieces.join(''))
}

interface Piece {
  readonly text: string
  readonly end: number
  /** Number of characters that were split into graphemes. */
  readonly measured: number
  /** 0-based index of the next verb's argument. */
  readonly nextIndex: number
}

/** Returns the literal text up to the next verb, or the formatted verb. */
function takePiece(
  format: string,
  at: number,
  { args, nextIndex }: { readonly args: readonly Value[]; readonly nextIndex: number },
): Result<Piece, string> {
  if (format[at] !== '%') {
    const end = format.indexOf('%', at)
    return ok({
      text: format.slice(at, end < 0 ? undefined : end),
      end: end < 0 ? format.length : end,
      measured: 0,
      nextIndex,
    })
  }
  if (format[at + 1] === '%') return ok({ text: '%', end: at + 2, measured: 0, nextIndex })
  VERB.lastIndex = at
  const match = VERB.exec(format)
  if (match === null)
    return err(`at offset ${at} it has a "%" without a valid verb; write "%%" for a percent sign`)
  const verb = readVerb(match)
  if (verb.width > FORMAT_WIDTH_MAX || (verb.precision ?? 0) > FORMAT_WIDTH_MAX)
    return err(`width and precision of ${quoteText(match[0])} may be at most ${FORMAT_WIDTH_MAX}`)
  const indexText = match[2] ?? match[5]
  const index = indexText === undefined ? nextIndex : Number(indexText) - 1
  const value = args[index]
  if (value === undefined)
    return err(`${quoteText(match[0])} needs value ${index + 1}, but there are ${args.length}`)
  const formatted = formatValue(verb, value)
  if (!formatted.ok) return err(`${quoteText(match[0])} ${formatted.error}`)
  const measured = verb.width + (verb.precision ?? 0)
  return ok({ text: formatted.value, end: VERB.lastIndex, measured, nextIndex: index + 1 })
}

function readVerb(match: RegExpExecArray): FormatVerb {
  const [, flags = '', , width = '0', precision, , mode = ''] = match
  return {
    mode,
    isAlternate: flags.includes('#'),
    isLeftAligned: flags.includes('-'),
    hasPlus: flags.includes('+'),
    hasSpace: flags.includes(' '),
    hasZeros: flags.includes('0'),
    width: Number(width),
    // A period without digits means precision zero.
    ...(precision === undefined ? {} : { precision: Number(precision) }),
  }
}
