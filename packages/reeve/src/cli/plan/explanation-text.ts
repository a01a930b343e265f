import type { Explanation, GroupExplanation, PlacementRefusal } from '@reeve/contract'
import { sections } from '../output/known-fields.ts'
import type { Paint } from '../output/style.ts'
import { counted } from './metrics-text.ts'

/** Names that are shown of nodes which all refuse for the same reasons. */
const NODES_SHOWN_MAX = 3

/** The answer in one sentence, then group by group what refuses and what would help. */
export function explanationText(explanation: Explanation, paint: Paint): string {
  const { Text, Groups, GroupsOmitted } = explanation
  return sections([
    `${Text}\n`,
    ...Groups.map((group) => groupText(group, paint)),
    GroupsOmitted > 0 ? `${counted(GroupsOmitted, 'more group')} had no turn.\n` : '',
  ])
}

function groupText(group: GroupExplanation, paint: Paint): string {
  const { TaskGroup, Desired, Placed, Unplaced, Refusals, RefusalsOmitted, Changes } = group
  const head = `Group "${TaskGroup}": ${Placed} of ${Desired} placed, ${Unplaced} not.`
  const waiting = [...new Set(group.Instances.filter(isWaiting).map(({ Text }) => Text))]
  const more = RefusalsOmitted > 0 ? [`  … and ${counted(RefusalsOmitted, 'more refusal')}`] : []
  const changes = Changes.map(({ Text }) => `  * ${Text}`)
  const parts = [
    paint('strong', head),
    ...waiting.map((text) => `  * ${text}`),
    ...(Refusals.length === 0 ? [] : ['  Rejected by:']),
    ...Refusals.flatMap(refusalLines),
    ...more,
    ...(changes.length === 0
      ? []
      : [paint('good', '  Would be placed with:'), ...changes.map(indented)]),
  ]
  return `${parts.join('\n')}\n`
}

function indented(line: string): string {
  return `  ${line}`
}

/** Not refused: it waits for a time, its deployment or its evaluation, and says so itself. */
function isWaiting({ State }: GroupExplanation['Instances'][number]): boolean {
  return State !== 'refused'
}

function refusalLines({ NodeCount, Nodes, Reasons }: PlacementRefusal): readonly string[] {
  const names = Nodes.slice(0, NODES_SHOWN_MAX).map(({ ID, Name }) => Name || ID.slice(0, 8))
  const rest = NodeCount > names.length ? ', …' : ''
  const who = `${counted(NodeCount, 'node')}${names.length === 0 ? '' : ` (${names.join(', ')}${rest})`}`
  return [`    ${who}:`, ...Reasons.map(({ Text }) => `      - ${Text}`)]
}
