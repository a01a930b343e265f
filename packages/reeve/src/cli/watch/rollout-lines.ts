import type { Deployment } from '@reeve/contract'
import { plainPaint } from '../output/style.ts'
import { shortId } from '../output/table.ts'
import { metricsText } from '../plan/metrics-text.ts'
import {
  hasEnded,
  healthText,
  troubleOf,
  unplacedGroups,
  type RolloutState,
} from './rollout-state.ts'

/** What those say who wait for room. */
export const WAITS = 'Waiting for capacity. Press Ctrl-C to stop waiting; the job is not affected.'

/** What a pipe is told: one line for each thing that is different from the last time. */
export class RolloutLines {
  readonly #said = new Map<string, string>()

  linesFor(state: RolloutState, nowMs: number): readonly string[] {
    const { evaluation, deployment, allocations } = state
    const lines: string[] = []
    const say = (key: string, line: string): void => {
      if (this.#said.get(key) === line) return
      this.#said.set(key, line)
      lines.push(line)
    }
    if (evaluation !== undefined)
      say('evaluation', `Evaluation ${shortId(evaluation.ID)} is ${evaluation.Status}.`)
    for (const [name, metrics] of unplacedGroups(state))
      say(`room ${name}`, `${metricsText(name, metrics, plainPaint)}\n${WAITS}`)
    if (state.heldBack !== undefined) say('held back', `Job "${state.jobId}": ${state.heldBack}.`)
    const isOver = deployment !== undefined && hasEnded(deployment)
    if (deployment !== undefined && !isOver) say('deployment', deploymentLine(deployment))
    for (const one of allocations.toSorted(
      (a, b) => a.CreateIndex - b.CreateIndex || (a.Name < b.Name ? -1 : 1),
    )) {
      const where = `${one.Name} on ${one.NodeName}`
      say(one.ID, `Allocation ${shortId(one.ID)} (${where}) is ${healthText(one, nowMs)}.`)
      const trouble = troubleOf(one, state)
      if (trouble !== undefined)
        say(`trouble ${one.ID}`, `Allocation ${shortId(one.ID)}, ${trouble}`)
    }
    for (const [name, group] of Object.entries(deployment?.TaskGroups ?? {}))
      say(
        `group ${name}`,
        `Group "${name}": ${group.HealthyAllocs} of ${group.DesiredTotal} healthy.`,
      )
    // The end comes last.
    if (deployment !== undefined && isOver) say('deployment', deploymentLine(deployment))
    return lines
  }
}

function deploymentLine({ ID, Status, StatusDescription }: Deployment): string {
  const why = StatusDescription === '' ? '' : `: ${StatusDescription.replace(/\.$/, '')}`
  return `Deployment ${shortId(ID)} is ${Status}${why}.`
}
