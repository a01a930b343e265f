/**
 * Fuzzes the engine with nearly valid policies and random valid ones. Each must be evaluated or
 * rejected with a position, within the time limit and without an exception, and an independent
 * interpreter must return the same result. `node packages/native-policy/fuzz/native.fuzz.ts
 * [--seconds N] [--seed S]`.
 */
import {
  compilePolicy,
  formatNative,
  STANDARD_IMPORTS,
  standardImport,
  type NativeDiagnostic,
} from '../src/index.ts'
import { compareEngines } from '../test/compare-engines.ts'
import { readNativeCases } from '../test/native-cases.ts'
import { makeProgram } from '../test/native-programs.ts'
import { mutate, type RandomSource } from '@reeve/kit/fuzz/mutate.ts'
import { runFuzzTargets } from '@reeve/kit/fuzz/rounds.ts'

const LENGTH_MAX = 32 * 1024
const STEPS_MAX = 500_000

const TEXTS = readNativeCases().map(({ text }) => text)
const time = { nowNs: 1_772_600_767_000_000_000n, zone: 'UTC', offsetSeconds: () => 0 }

function read(text: string): string {
  const formatted = formatNative('p.native', text)
  if (formatted.ok) {
    const again = formatNative('p.native', formatted.value)
    if (!again.ok || again.value !== formatted.value) throw new Error('formatting is not stable')
  } else checkPlace(formatted.error)
  const compiled = compilePolicy(
    { file: 'p.native', text },
    { isImport: (path) => STANDARD_IMPORTS.has(path), globals: ['job'] },
  )
  if (!compiled.ok) {
    if (compiled.error.length === 0) throw new Error('refused without a problem')
    for (const problem of compiled.error) checkPlace(problem)
    return 'refused'
  }
  const options = {
    importValue: (path: string) => standardImport(path, { time, version: '1.0.0' }),
    stepsMax: STEPS_MAX,
  }
  const plain = compiled.value.evaluate(options)
  const explained = compiled.value.evaluate({ ...options, explain: true })
  if (plain.error !== undefined) checkPlace(plain.error)
  if (plain.result !== explained.result && !plain.isOverLimit && !explained.isOverLimit)
    throw new Error(`explaining makes ${explained.result} of ${plain.result}`)
  return plain.isOverLimit ? 'limit' : plain.result
}

function checkPlace({ position }: NativeDiagnostic): void {
  if (position.line < 1 || position.column < 1) throw new Error('a problem has no place')
}

runFuzzTargets('native', [
  {
    name: 'changed cases',
    generate: (draw: RandomSource) => mutate(TEXTS, draw, LENGTH_MAX),
    run: read,
  },
  {
    name: 'changed programs',
    generate: (draw: RandomSource) =>
      mutate([makeProgram(draw), ...TEXTS.slice(0, 50)], draw, LENGTH_MAX),
    run: read,
  },
  {
    name: 'two engines',
    generate: makeProgram,
    run: (text) => {
      const { difference, outcome } = compareEngines(text)
      if (difference !== undefined) throw new Error(difference)
      return outcome
    },
  },
])
