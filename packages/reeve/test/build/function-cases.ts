import assert from 'node:assert/strict'
import { test } from 'node:test'
import { nodeCrypto } from '@reeve/kit/node'
import { jobFunctions, type FileFunctions } from '../../src/jobspec/functions/functions.ts'
import { evaluate, createScope, parseExpression, toJson } from '@reeve/hcl'

/** The call of a function, and the JSON of its value or the part of a message it fails with. */
export type FunctionCase = readonly [source: string, wanted: string | Failure]

interface Failure {
  readonly fails: string
}

export function fails(message: string): Failure {
  return { fails: message }
}

export interface CallOptions {
  readonly files?: FileFunctions
  readonly nowMs?: number
  /** Draws, which repeat. */
  readonly draws?: readonly number[]
}

/** What an expression of a job file yields, or the details of what is wrong with it. */
export function call(source: string, options: CallOptions = {}) {
  const { files, nowMs, draws = [0.5] } = options
  let drawn = 0
  const functions = jobFunctions({
    files,
    crypto: nodeCrypto,
    random: { next: () => draws[drawn++ % draws.length] ?? 0 },
    ...(nowMs === undefined ? {} : { nowMs }),
  })
  const parsed = parseExpression(source, 'f')
  const scope = createScope({ functions: Object.fromEntries(functions) })
  return parsed.ok ? evaluate(parsed.value, scope) : parsed
}

/** One test for each case. */
export function testCalls(cases: readonly FunctionCase[], options: CallOptions = {}): void {
  for (const [source, wanted] of cases)
    test(`${source} ${typeof wanted === 'string' ? `is ${wanted}` : `fails: ${wanted.fails}`}`, () => {
      const result = call(source, options)
      if (typeof wanted === 'string') {
        assert.ok(result.ok, result.ok ? '' : JSON.stringify(result.error.map((one) => one.detail)))
        assert.equal(toJson(result.value), wanted)
        return
      }
      assert.ok(!result.ok, result.ok ? `it is ${toJson(result.value)}` : '')
      const details = result.error.map(({ detail }) => detail).join('\n')
      assert.ok(details.includes(wanted.fails), details)
    })
}

/** A text as the language writes it. */
export function literal(text: string): string {
  // In the replacement of a text `$$` would stand for one `$`.
  return JSON.stringify(text)
    .replaceAll('${', () => '$${')
    .replaceAll('%{', '%%{')
}
