import { nsFromMs } from '@reeve/kit/duration.ts'
import type { AgentTask, Assignment } from '../assignment.ts'
import type { AgentHost } from '../host.ts'
import { decideRestart, restartsOnSuccess, type EndCause } from './restart-policy.ts'
import type { TaskLedger } from './task-ledger.ts'
import { END, type Step } from './task-step.ts'

interface SettleOptions {
  readonly host: Pick<AgentHost, 'clock' | 'random'>
  readonly assignment: Assignment
  readonly task: AgentTask
  readonly cause: EndCause
}

/** What follows when a run came to its end by itself. */
export function settle(ledger: TaskLedger, { host, assignment, task, cause }: SettleOptions): Step {
  const { tracker, verdict } = decideRestart({
    policy: task.RestartPolicy,
    tracker: ledger.record.restarts,
    cause,
    onSuccess: restartsOnSuccess(assignment.job.Type, task.Lifecycle),
    nowMs: host.clock.nowMs(),
    draw: host.random.next(),
  })
  ledger.change({ restarts: tracker })
  if (verdict.kind === 'restart') {
    const { reason, delayMs } = verdict
    ledger.note('Restarting', { RestartReason: reason, StartDelay: nsFromMs(delayMs) })
    ledger.move('pending')
    return { at: 'delay', delayMs }
  }
  if (verdict.kind === 'failed') {
    ledger.note('Not Restarting', { RestartReason: verdict.reason, FailsTask: true })
  }
  ledger.move('dead', cause.kind === 'exited' ? cause.exit.atMs : undefined)
  return END
}
