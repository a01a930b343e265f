import assert from 'node:assert/strict'
import { test } from 'node:test'
import { compileFilter, leadingConjuncts } from './compile.ts'

const FIELDS = new Set(['ID', 'Status'])
const ROW = { ID: 'web', Status: 'running' }

const cases: readonly { filter: string; passes: boolean | undefined }[] = [
  { filter: 'ID contains we', passes: true },
  { filter: 'ID contains db', passes: false },
  { filter: 'ID contains we and Meta.team == core', passes: true },
  { filter: 'ID contains db and Meta.team == core', passes: false },
  { filter: '(ID contains we and Status == dead) and Meta.team == core', passes: false },
  { filter: '(ID == db or not Status == dead) and Type == batch', passes: true },
  { filter: 'Status == running and (ID == db and Type == batch)', passes: false },
  { filter: 'Meta.team == core and ID contains db', passes: undefined },
  { filter: 'ID contains db or Meta.team == core', passes: undefined },
  { filter: 'any Meta as ID { ID == db }', passes: undefined },
]
for (const { filter, passes } of cases)
  test(`the leading part of ${filter} ${passes === undefined ? 'is empty' : `is ${passes}`}`, () => {
    const compiled = compileFilter(filter)
    assert.ok(compiled.ok)
    const verdict = leadingConjuncts(compiled.value, FIELDS)?.matches(ROW)
    assert.equal(verdict === undefined ? undefined : verdict.ok && verdict.value, passes)
  })
