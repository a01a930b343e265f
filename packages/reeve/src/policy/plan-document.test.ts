import assert from 'node:assert/strict'
import { test } from 'node:test'
import { parsePlan } from './plan-document.ts'

/** A plan with so many empty objects, and members that make it a valid one. */
function aPlan(objects: number, member = ''): Buffer {
  const text = `{"format_version":"1.0","resource_changes":[],${member}"x":[${'{},'.repeat(objects)}0]}`
  return Buffer.from(text)
}

const decode = (bytes: Uint8Array): string => Buffer.from(bytes).toString()
/** Its digits are kept, which takes several times the memory of other plans. */
const LONG_NUMBER = '"n":12345678901234567,'

for (const { name, plan, error } of [
  { name: 'a plan of many objects is parsed', plan: aPlan(10_000), error: undefined },
  { name: 'so is one with a long number', plan: aPlan(10_000, LONG_NUMBER), error: undefined },
  {
    name: 'more objects than the limit are rejected',
    plan: aPlan(3_000_000),
    error: 'The plan has more than 3000000 objects and lists',
  },
  {
    name: 'with a long number, as many as take the memory of the thread are rejected',
    plan: aPlan(2_000_000, LONG_NUMBER),
    error: 'The plan has too many values for one with numbers of more than 15 digits',
  },
])
  test(`parsePlan: ${name}`, () => {
    const parsed = parsePlan(plan, decode)
    assert.equal(parsed.ok ? undefined : parsed.error, error)
  })
