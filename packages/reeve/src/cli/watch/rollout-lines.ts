import { shortId } from '../output/table.ts'
import { healthWord, type RolloutState } from './rollout-state.ts'

/** What a pipe is told: one line for each thing that is different from the last time. */
export class RolloutLines {
  readonly #said = new Map<string, string>()

  linesFor({ evaluation, deployment, allocations }: RolloutState): readonly string[] {
    const lines: string[] = []
    const say = (key: string, line: string): void => {
      if (this.#said.get(key) === line) return
      this.#said.set(key, line)
      lines.push(line)
    }
    if (evaluation !== undefined)
      say('evaluation', `Evaluation ${shortId(evaluation.ID)} is ${evaluation.Status}.`)
    if (deployment !== undefined) {
      const { ID, Status, StatusDescription } = deployment
      const why = StatusDescription === '' ? '' : `: ${StatusDescription.replace(/\.$/, '')}`
      say('deployment', `Deployment ${shortId(ID)} is ${Status}${why}.`)
    }
    for (const one of allocations.toSorted(
      (a, b) => a.CreateIndex - b.CreateIndex || (a.Name < b.Name ? -1 : 1),
    )) {
      const where = `${one.Name} on ${one.NodeName}`
      say(one.ID, `Allocation ${shortId(one.ID)} (${where}) is ${healthWord(one)}.`)
    }
    for (const [name, group] of Object.entries(deployment?.TaskGroups ?? {}))
      say(
        `group ${name}`,
        `Group "${name}": ${group.HealthyAllocs} of ${group.DesiredTotal} healthy.`,
      )
    return lines
  }
}
