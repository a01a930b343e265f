import type { Explanation, GroupExplanation, PlacementRefusal } from '@reeve/contract'
import type { Output } from '../output/output.ts'

/** Why instances have no place, and what would give them one. */
export function explanationText(explanation: Explanation, output: Output): string {
  const { Text, Groups, GroupsOmitted } = explanation
  const more = GroupsOmitted === 0 ? [] : [`${GroupsOmitted} more groups were not looked at.\n`]
  return [`${Text}\n`, ...Groups.map((group) => groupText(group, output)), ...more].join('\n')
}

function groupText(group: GroupExplanation, { paint }: Output): string {
  const { TaskGroup, Placed, Desired, Unplaced } = group
  const head = `Group "${TaskGroup}": ${Placed} of ${Desired} placed, ${Unplaced} not`
  return [
    paint('strong', head),
    ...section('Waiting', waitingLines(group)),
    ...section(`Refused by ${group.NodesConsidered} node(s)`, refusalLines(group)),
    ...section('What would help', changeLines(group)),
    '',
  ].join('\n')
}

function section(title: string, lines: readonly string[]): readonly string[] {
  return lines.length === 0 ? [] : [`  ${title}:`, ...lines.map((line) => `    ${line}`)]
}

/** What no node refuses waits for something else; of the refused, the nodes say why. */
function waitingLines({ Instances, InstancesOmitted }: GroupExplanation): readonly string[] {
  const waiting = Instances.filter(({ State }) => State !== 'refused')
  const more = InstancesOmitted === 0 ? [] : [`and ${InstancesOmitted} more`]
  return [
    ...waiting.map(({ Name, Text }) => `${Name}: ${Text}`),
    ...(waiting.length > 0 ? more : []),
  ]
}

function refusalLines({ Refusals, RefusalsOmitted }: GroupExplanation): readonly string[] {
  const more = RefusalsOmitted === 0 ? [] : [`and ${RefusalsOmitted} more kinds of nodes`]
  return [...Refusals.flatMap(refusalText), ...more]
}

function refusalText({ NodeCount, Nodes, Reasons }: PlacementRefusal): readonly string[] {
  const names = Nodes.map(({ Name }) => Name).join(', ')
  const whole = NodeCount > Nodes.length ? `${names} and ${NodeCount - Nodes.length} more` : names
  return [`${whole}:`, ...Reasons.map(({ Text }) => `  - ${Text}`)]
}

function changeLines({ Changes }: GroupExplanation): readonly string[] {
  return Changes.map(({ Text }) => `- ${Text}`)
}
