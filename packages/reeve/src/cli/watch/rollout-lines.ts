import type { Deployment } from '@reeve/contract'
import { noPaint } from '../output/style.ts'
import { shortenId } from '../output/table.ts'
import { formatPlacementFailure } from '../plan/metrics-text.ts'
import {
  hasEnded,
  formatHealth,
  failureReason,
  unplacedGroups,
  type DeploymentProgress,
} from './rollout-state.ts'

/** Notice while allocations wait for capacity. */
export const WAITING_MESSAGE =
  'Waiting for capacity. Press Ctrl-C to stop waiting; the job is not affected.'

/** Progress as lines for pipes: prints a line for each change. */
export class DeploymentLines {
  readonly #printed = new Map<string, string>()

  changedLines(state: DeploymentProgress, nowMs: number): readonly string[] {
    const { evaluation, deployment, allocations } = state
    const lines: string[] = []
    const say = (key: string, line: string): void => {
      if (this.#printed.get(key) === line) return
      this.#printed.set(key, line)
      lines.push(line)
    }
    if (evaluation !== undefined)
      say('evaluation', `Evaluation ${shortenId(evaluation.ID)} is ${evaluation.Status}.`)
    for (const [name, metrics] of unplacedGroups(state))
      say(`room ${name}`, `${formatPlacementFailure(name, metrics, noPaint)}\n${WAITING_MESSAGE}`)
    if (state.heldBack !== undefined) say('held back', `Job "${state.jobId}": ${state.heldBack}.`)
    const isOver = deployment !== undefined && hasEnded(deployment)
    if (deployment !== undefined && !isOver) say('deployment', deploymentLine(deployment))
    for (const one of allocations.toSorted(
      (a, b) => a.CreateIndex - b.CreateIndex || (a.Name < b.Name ? -1 : 1),
    )) {
      const where = `${one.Name} on ${one.NodeName}`
      say(one.ID, `Allocation ${shortenId(one.ID)} (${where}) is ${formatHealth(one, nowMs)}.`)
      const trouble = failureReason(one, state)
      if (trouble !== undefined)
        say(`trouble ${one.ID}`, `Allocation ${shortenId(one.ID)}, ${trouble}`)
    }
    for (const [name, group] of Object.entries(deployment?.TaskGroups ?? {}))
      say(
        `group ${name}`,
        `Group "${name}": ${group.HealthyAllocs} of ${group.DesiredTotal} healthy.`,
      )
    // The final status is printed last.
    if (deployment !== undefined && isOver) say('deployment', deploymentLine(deployment))
    return lines
  }
}

function deploymentLine({ ID, Status, StatusDescription }: Deployment): string {
  const why = StatusDescription === '' ? '' : `: ${StatusDescription.replace(/\.$/, '')}`
  return `Deployment ${shortenId(ID)} is ${Status}${why}.`
}
