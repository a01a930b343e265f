import assert from 'node:assert/strict'
import test from 'node:test'
import type { AllocationStub } from '@reeve/contract'
import { summarizeEnd } from './monitor-submission.ts'

interface Given {
  readonly id: string
  readonly status: AllocationStub['ClientStatus']
  readonly exitCodes?: readonly number[]
  readonly replaces?: string
}

/** The members that the exit code of a job depends on. */
function anAllocation({ id, status, exitCodes = [], replaces = '' }: Given): AllocationStub {
  const events = exitCodes.map((ExitCode, at) => ({ Type: 'Terminated', ExitCode, Time: at + 1 }))
  const state = { Failed: status === 'failed', Events: events }
  // `endOf` reads no other members of the stub.
  return {
    ID: id,
    ClientStatus: status,
    PreviousAllocation: replaces,
    ModifyIndex: 1,
    TaskStates: { main: state },
  } as unknown as AllocationStub
}

const cases: readonly { name: string; given: readonly Given[]; code: number }[] = [
  { name: 'all complete', given: [{ id: 'a', status: 'complete', exitCodes: [0] }], code: 0 },
  { name: 'a failed task', given: [{ id: 'a', status: 'failed', exitCodes: [3] }], code: 3 },
  { name: 'the last attempt', given: [{ id: 'a', status: 'failed', exitCodes: [1, 7] }], code: 7 },
  { name: 'never started', given: [{ id: 'a', status: 'failed' }], code: 1 },
  { name: 'lost with its node', given: [{ id: 'a', status: 'lost' }], code: 1 },
  {
    name: 'a failure that was replaced does not count',
    given: [
      { id: 'a', status: 'failed', exitCodes: [3] },
      { id: 'b', status: 'complete', exitCodes: [0], replaces: 'a' },
    ],
    code: 0,
  },
]
for (const { name, given, code } of cases)
  test(`endOf: ${name}: ${code}`, () =>
    assert.equal(summarizeEnd(given.map(anAllocation)).code, code))
