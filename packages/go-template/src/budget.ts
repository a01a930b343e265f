import { estimateRegexSize } from '@reeve/kit/regex-size.ts'
import { TEMPLATE_LIMITS } from './limits.ts'
import { fail } from './template-error.ts'
import { isList, isMap, StructValue, type Value } from './value.ts'

/** The bytes that one rendering may still process. */
export class ByteBudget {
  #spent = 0

  get spent(): number {
    return this.#spent
  }

  charge(bytes: number): void {
    this.#spent += bytes
    if (this.#spent > TEMPLATE_LIMITS.bytesMax) {
      fail(`template processing exceeds ${TEMPLATE_LIMITS.bytesMax} bytes`)
    }
  }

  /** A text by its length, a list or map by its elements without what is inside them. */
  chargeShallow(value: Value): void {
    if (typeof value === 'string') this.charge(value.length)
    else if (isList(value)) this.charge(value.length * ELEMENT_BYTES)
    else if (isMap(value)) {
      this.charge(value.size * ELEMENT_BYTES)
      for (const key of value.keys()) this.charge(key.length)
    }
  }

  /**
   * All of a value, `factor` times. An element counts as often as it is used: a list that holds
   * itself twice over thirty levels prints a billion texts.
   */
  chargeDeep(value: Value, factor = 1, depth = 0): void {
    if (depth > TEMPLATE_LIMITS.valueDepthMax) fail('a value is nested too deeply')
    this.charge(ELEMENT_BYTES * factor)
    if (typeof value === 'string') this.charge(value.length * factor)
    else if (isList(value)) {
      for (const item of value) this.chargeDeep(item, factor, depth + 1)
    } else if (isMap(value) || value instanceof StructValue) {
      for (const [key, item] of isMap(value) ? value : value.fields) {
        this.charge(key.length * factor)
        this.chargeDeep(item, factor, depth + 1)
      }
    }
  }
}

/** Refuses a text; where its length is known in advance, before it is built. */
export function tooLong(chars: number): void {
  if (chars > TEMPLATE_LIMITS.outputCharsMax) {
    fail(`the text becomes longer than ${TEMPLATE_LIMITS.outputCharsMax} characters`)
  }
}

/** About the memory of a reference and a number, and the time to follow it. */
export const ELEMENT_BYTES = 16

/** Charges a call for what it is about to read, before it is made. Its result is charged after. */
export type Cost = (args: readonly Value[], budget: ByteBudget) => void

/** For a function that takes the same time however large its arguments are. */
export const constantCost: Cost = () => undefined

/** For a function that goes through texts, and takes no lists or only counts them. */
export const textCost: Cost = (args, budget) => {
  for (const arg of args) if (typeof arg === 'string') budget.charge(arg.length)
}

/** For a function that goes through lists and maps, but not through what is inside them. */
export const shallowCost: Cost = (args, budget) => {
  for (const arg of args) budget.chargeShallow(arg)
}

/** For a function that goes through everything in its arguments. */
export const deepCost: Cost = (args, budget) => {
  for (const arg of args) budget.chargeDeep(arg)
}

/** For a function that writes its arguments with escapes: `\u0001` is six characters for one. */
export const escapingCost: Cost = (args, budget) => {
  for (const arg of args) budget.chargeDeep(arg, 6)
}

/** For `containsAll` and its like: each item is searched for in the whole value. */
export const searchCost: Cost = ([items, value], budget) => {
  budget.chargeDeep(items)
  const searches = isList(items) ? items.length : 1
  for (let search = 0; search < searches; search += 1) budget.chargeDeep(value)
}

/** For digests and encodings, which take several times as long for each byte as other functions. */
export const encodingCost: Cost = (args, budget) => {
  for (const arg of args) if (typeof arg === 'string') budget.charge(arg.length * 4)
}

/** For a regular expression: compiling it, and a search that tries its parts at each character. */
export const patternCost: Cost = (args, budget) => {
  const [pattern] = args
  const text = args.at(-1)
  deepCost(args, budget)
  if (typeof pattern !== 'string' || typeof text !== 'string') return
  const instructions = estimateRegexSize(pattern)
  if (instructions > TEMPLATE_LIMITS.patternInstructionsMax) fail('the pattern is too large')
  budget.charge(instructions * 64 + text.length * (8 + Math.ceil(instructions / 4)))
}

/** For readers of JSON and YAML: their maps and lists take far more memory than the text. */
export const parseCost: Cost = ([text], budget) => {
  if (typeof text !== 'string') return
  let bytes = text.length
  for (let at = 0; at < text.length; at += 1) {
    const code = text.charCodeAt(at)
    if (code === BRACE) bytes += MAP_BYTES
    else if (ELEMENT_MARKS.has(code)) bytes += 2 * ELEMENT_BYTES
  }
  budget.charge(bytes)
}

const MAP_BYTES = 200
const BRACE = 0x7b
/** `[`, `,`, `:` and the end of a line: at most one element of JSON or YAML for each. */
const ELEMENT_MARKS: ReadonlySet<number> = new Set([0x5b, 0x2c, 0x3a, 0x0a])
