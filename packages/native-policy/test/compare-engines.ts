import { compilePolicy, formatValue } from '../src/index.ts'
import { parseHcl } from '../src/syntax/parse.ts'
import { Source } from '../src/syntax/source.ts'
import { interpret } from './native-interpreter.ts'

const STEPS_MAX = 2_000_000
const SHOWN_MAX = 1_000_000

/** Evaluates a policy without imports in both engines; `difference` describes a mismatch. */
export function compareEngines(text: string): {
  readonly outcome: string
  readonly difference: string | undefined
} {
  const compiled = compilePolicy({ file: 'p.native', text })
  if (!compiled.ok) return { outcome: 'refused', difference: undefined }
  const slow = interpret(parseHcl(new Source('p.native', text)))
  if (slow.result === 'too-long') return { outcome: 'too long', difference: undefined }
  for (const explains of [false, true]) {
    const { result, value, isOverLimit, error } = compiled.value.evaluate({
      importValue: () => undefined,
      stepsMax: STEPS_MAX,
      explain: explains,
    })
    if (isOverLimit) return { outcome: 'limit', difference: undefined }
    const isVerdict = result === 'pass' || result === 'fail'
    const shown = isVerdict && value !== undefined ? formatValue(value, SHOWN_MAX) : ''
    if (result !== slow.result || (isVerdict && shown !== slow.shown))
      return {
        outcome: result,
        difference: `the engine says ${result} ${shown}${error?.message ?? ''}, the other ${slow.result} ${slow.shown}`,
      }
  }
  return { outcome: slow.result, difference: undefined }
}
