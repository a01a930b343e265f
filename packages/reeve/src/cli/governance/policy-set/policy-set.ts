import type { v2 } from '@reeve/contract'
import { includedResources, type ItemOf } from '@reeve/sdk'
import type { CommandContext } from '../../command.ts'
import { EXIT_CODES } from '../../exit-code.ts'
import { renderNonEmptyFields } from '../../output/known-fields.ts'
import { findPolicySet } from '../find.ts'
import { resolveOrganization } from '../organization.ts'
import { printList } from '../texts.ts'
import { formatParameters } from './parameters.ts'

type PolicySet = ItemOf<'listPolicySets'>

export async function runPolicySetList(invocation: CommandContext): Promise<number> {
  const params = await resolveOrganization(invocation)
  return await printList(invocation, invocation.client.pages('listPolicySets', { params }), {
    heading: ['Name', 'Kind', 'Policies', 'Guards', 'ID'],
    row: (set) => [
      set.attributes.name,
      set.attributes.kind,
      String(set.attributes['policy-count']),
      formatScope(set),
      set.id,
    ],
    empty: 'There are no policy sets. "reeve policy-set create NAME" makes one.',
  })
}

function formatScope({ attributes, relationships }: PolicySet): string {
  // Namespaces without a project are not in the scope of a global set.
  if (attributes.global) return 'every project'
  const parts = [
    formatCount(attributes['project-count'], 'project'),
    formatCount(attributes['workspace-count'], 'workspace'),
    formatCount(relationships.namespaces?.data.length ?? 0, 'namespace'),
  ].filter((part) => part !== '')
  return parts.length === 0 ? 'nothing' : parts.join(', ')
}

function formatCount(count: number, noun: string): string {
  return count === 0 ? '' : `${count} ${count === 1 ? noun : `${noun}s`}`
}

export async function runPolicySetShow(invocation: CommandContext): Promise<number> {
  const { id } = await findPolicySet(invocation, invocation.args[0] ?? '')
  return await printPolicySet(invocation, id)
}

const INCLUDED =
  'policies,current_version,workspaces,projects,workspace_exclusions,project_exclusions'

/** Prints the current policy set with the names of its members. */
export async function printPolicySet(invocation: CommandContext, setId: string): Promise<number> {
  const { client, output } = invocation
  const { data } = await client.v2.readPolicySet({
    params: { policy_set_id: setId },
    query: { include: INCLUDED },
  })
  const { attributes, relationships } = data.data
  const namesById = new Map(
    [
      ...includedResources(data, 'policies'),
      ...includedResources(data, 'projects'),
      ...includedResources(data, 'workspaces'),
    ].map((one) => [one.id, one.attributes.name]),
  )
  const namesOf = (members: { readonly data: readonly { readonly id: string }[] } | undefined) =>
    (members?.data ?? []).map(({ id }) => namesById.get(id) ?? id).join(', ')
  // An uploaded archive replaces the individually attached policies.
  const [version] = includedResources(data, 'policy-set-versions')
  const parameters = await formatParameters(invocation, setId)
  output.print(data, () =>
    renderNonEmptyFields([
      ['Name', attributes.name],
      ['ID', setId],
      ['Kind', attributes.kind],
      ['Description', attributes.description ?? ''],
      ['Guards', formatScope(data.data)],
      [
        'Policies',
        version === undefined ? namesOf(relationships.policies) : formatPolicies(version),
      ],
      ['Version', version === undefined ? '' : formatVersion(version)],
      ['Parameters', parameters],
      ['Projects', namesOf(relationships.projects)],
      ['Workspaces', namesOf(relationships.workspaces)],
      ['Jobs of namespaces', namesOf(relationships.namespaces)],
      ['Except projects', namesOf(relationships['project-exclusions'])],
      ['Except workspaces', namesOf(relationships['workspace-exclusions'])],
      ['Overridable', formatOverridable(attributes.overridable)],
    ]),
  )
  return EXIT_CODES.ok
}

function formatPolicies({ attributes }: v2.PolicySetVersion): string {
  return attributes.policies
    .map(({ name, 'enforcement-level': level }) => `${name} (${level})`)
    .join(', ')
}

function formatVersion({ id, attributes }: v2.PolicySetVersion): string {
  return `${id} of ${attributes['created-at']}`
}

/** Formats the override setting; null means that the enforcement levels of the policies apply. */
function formatOverridable(overridable: boolean | null): string {
  if (overridable === null) return 'as the levels of its policies say'
  return overridable ? 'yes' : 'no'
}
