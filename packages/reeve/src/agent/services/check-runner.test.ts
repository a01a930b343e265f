import assert from 'node:assert/strict'
import { test } from 'node:test'
import { aCheck } from '../../../test/build/service.ts'
import type { AgentCheck } from '../assignment.ts'
import { nsFromMs } from '@reeve/kit/duration.ts'
import {
  initialCheckState,
  hasReachedRestartLimit,
  nextCheckState,
  type CheckState,
} from './check-runner.ts'
import type { PlannedCheck } from './plan-services.ts'
import type { CheckOutcome } from './check-probe.ts'

function planned(fields: Partial<AgentCheck>): PlannedCheck {
  const at = { address: '127.0.0.1', port: 1 }
  const check = aCheck(fields)
  return { id: 'c', name: 'alive', service: 'web', group: 'g', task: 'web', check, at }
}

/** The states after looks a second apart: p passes, w warns, f fails. */
function after(fields: Partial<AgentCheck>, looks: string, graceUntilMs = 0): CheckState {
  const check = planned(fields)
  return [...looks].reduce(
    (state, look, i) => {
      const outcome = look === 'p' ? 'passing' : look === 'w' ? 'warning' : 'failing'
      const finding: CheckOutcome = { outcome, output: '' }
      return nextCheckState(check, state, {
        outcome: finding,
        nowMs: (i + 1) * 1_000,
        graceUntilMs,
      })
    },
    initialCheckState(check, 0),
  )
}

const statuses = [
  { looks: '', fields: {}, status: 'pending', since: undefined },
  { looks: '', fields: { InitialStatus: 'passing' }, status: 'success', since: 0 },
  { looks: 'p', fields: {}, status: 'success', since: 1_000 },
  { looks: 'pp', fields: {}, status: 'success', since: 1_000 },
  { looks: 'pf', fields: {}, status: 'failure', since: undefined },
  { looks: 'pfp', fields: {}, status: 'success', since: 3_000 },
  { looks: 'pp', fields: { SuccessBeforePassing: 3 }, status: 'pending', since: undefined },
  { looks: 'pfppp', fields: { SuccessBeforePassing: 3 }, status: 'success', since: 5_000 },
  { looks: 'pff', fields: { FailuresBeforeCritical: 3 }, status: 'success', since: 1_000 },
  { looks: 'pfff', fields: { FailuresBeforeCritical: 3 }, status: 'failure', since: undefined },
  { looks: 'w', fields: {}, status: 'failure', since: undefined },
  { looks: 'pw', fields: { OnUpdate: 'ignore_warnings' }, status: 'failure', since: 1_000 },
  { looks: 'pf', fields: { OnUpdate: 'ignore_warnings' }, status: 'failure', since: undefined },
  { looks: 'f', fields: { OnUpdate: 'ignore' }, status: 'failure', since: 0 },
]
for (const { looks, fields, status, since } of statuses)
  test(`check ${JSON.stringify(fields)} after "${looks}" is ${status}`, () => {
    const state = after(fields, looks)
    assert.deepEqual([state.status, state.passingSinceMs], [status, since])
  })

function restart(fields: object = {}): Partial<AgentCheck> {
  return { CheckRestart: { Limit: 3, Grace: nsFromMs(0), IgnoreWarnings: false, ...fields } }
}
const outs = [
  { name: 'as often as it may', fields: restart(), looks: 'fff', out: true },
  { name: 'less often', fields: restart(), looks: 'ff', out: false },
  { name: 'not in a row', fields: restart(), looks: 'ffpff', out: false },
  { name: 'with warnings', fields: restart(), looks: 'www', out: true },
  {
    name: 'with ignored ones',
    fields: restart({ IgnoreWarnings: true }),
    looks: 'www',
    out: false,
  },
  { name: 'in its grace', fields: restart(), looks: 'fff', grace: 2_500, out: false },
  { name: 'after its grace', fields: restart(), looks: 'fffff', grace: 2_500, out: true },
  { name: 'with limit 0', fields: restart({ Limit: 0 }), looks: 'ffff', out: false },
  { name: 'without the block', fields: {}, looks: 'ffff', out: false },
]
for (const { name, fields, looks, grace, out } of outs)
  test(`check_restart: a check that fails ${name} ${out ? 'is' : 'is not'} out`, () => {
    assert.equal(hasReachedRestartLimit(planned(fields), after(fields, looks, grace)), out)
  })
