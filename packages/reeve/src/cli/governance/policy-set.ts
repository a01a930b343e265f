import { v2 } from '@reeve/contract'
import { includedResources, type ItemOf, resource, toMany } from '@reeve/sdk'
import type { CommandContext } from '../command.ts'
import { confirm } from '../confirm.ts'
import { CommandError, EXIT_CODES, UsageError } from '../errors.ts'
import { readFileOrStdin } from '../input.ts'
import { renderNonEmptyFields } from '../output/format.ts'
import { findPolicy, findPolicySet, findProject, findWorkspace } from './find.ts'
import { resolveOrganization } from './flags.ts'
import { booleanFlag, omitUndefined, printList } from './output.ts'

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
    empty: 'There are no policy sets. "reeve policy-set create NAME" creates one.',
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
async function printPolicySet(invocation: CommandContext, setId: string): Promise<number> {
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

/** IDs of the policies and scope members named by flags. */
interface MemberIds {
  readonly policies: readonly string[]
  readonly projects: readonly string[]
  readonly workspaces: readonly string[]
  readonly namespaces: readonly string[]
  readonly 'project-exclusions': readonly string[]
  readonly 'workspace-exclusions': readonly string[]
}

async function resolveMemberIds(invocation: CommandContext): Promise<MemberIds> {
  const { flags } = invocation
  const idsOf = async (
    flag: string,
    find: (invocation: CommandContext, given: string) => Promise<{ readonly id: string }>,
  ): Promise<readonly string[]> => {
    const found = flags.strings(flag).map((given) => find(invocation, given))
    return (await Promise.all(found)).map(({ id }) => id)
  }
  return {
    policies: await idsOf('policy', findPolicy),
    projects: await idsOf('project', findProject),
    workspaces: await idsOf('workspace', findWorkspace),
    namespaces: flags.strings('jobs-of'),
    'project-exclusions': await idsOf('except-project', findProject),
    'workspace-exclusions': await idsOf('except-workspace', findWorkspace),
  }
}

type ChangeKind = 'add' | 'remove'

export async function runPolicySetAdd(invocation: CommandContext): Promise<number> {
  return await changeMembers(invocation, 'add')
}

export async function runPolicySetRemove(invocation: CommandContext): Promise<number> {
  return await changeMembers(invocation, 'remove')
}

async function changeMembers(invocation: CommandContext, how: ChangeKind): Promise<number> {
  const { id } = await findPolicySet(invocation, invocation.args[0] ?? '')
  const members = await resolveMemberIds(invocation)
  const isNothing = Object.values(members).every((ids) => ids.length === 0)
  if (isNothing) throw new UsageError('Name what is meant: --policy, --project, --jobs-of …')
  for (const send of membershipCalls(invocation, { members, how, setId: id })) await send()
  return await printPolicySet(invocation, id)
}

interface MembershipChange {
  readonly members: MemberIds
  readonly how: ChangeKind
  readonly setId: string
}

/** Returns one request per kind of member named by flags. */
function membershipCalls({ client }: CommandContext, { members, how, setId }: MembershipChange) {
  const { v2: api } = client
  const params = { policy_set_id: setId }
  const isAdd = how === 'add'
  const calls = [
    {
      ids: members.policies,
      send: () =>
        (isAdd ? api.addPolicySetPolicies : api.removePolicySetPolicies)({
          params,
          body: toMany('policies', members.policies),
        }),
    },
    {
      ids: members.projects,
      send: () =>
        (isAdd ? api.addPolicySetProjects : api.removePolicySetProjects)({
          params,
          body: toMany('projects', members.projects),
        }),
    },
    {
      ids: members.workspaces,
      send: () =>
        (isAdd ? api.addPolicySetWorkspaces : api.removePolicySetWorkspaces)({
          params,
          body: toMany('workspaces', members.workspaces),
        }),
    },
    {
      ids: members.namespaces,
      send: () =>
        (isAdd ? api.addPolicySetNamespaces : api.removePolicySetNamespaces)({
          params,
          body: toMany('namespaces', members.namespaces),
        }),
    },
    {
      ids: members['project-exclusions'],
      send: () =>
        (isAdd ? api.addPolicySetProjectExclusions : api.removePolicySetProjectExclusions)({
          params,
          body: toMany('projects', members['project-exclusions']),
        }),
    },
    {
      ids: members['workspace-exclusions'],
      send: () =>
        (isAdd ? api.addPolicySetWorkspaceExclusions : api.removePolicySetWorkspaceExclusions)({
          params,
          body: toMany('workspaces', members['workspace-exclusions']),
        }),
    },
  ]
  return calls.filter(({ ids }) => ids.length > 0).map(({ send }) => send)
}

export async function runPolicySetCreate(invocation: CommandContext): Promise<number> {
  const { args, client, flags } = invocation
  const attributes = {
    name: args[0] ?? '',
    kind: flags.oneOf('kind', v2.POLICY_KINDS) ?? 'native',
    ...settingsOf(invocation),
  }
  const { data } = await client.v2.createPolicySet({
    params: await resolveOrganization(invocation),
    body: resource(
      'policy-sets',
      attributes,
      memberRelationships(await resolveMemberIds(invocation)),
    ),
  })
  return await printPolicySet(invocation, data.data.id)
}

/** Returns only the relationships that flags name, because global sets reject attachments. */
function memberRelationships(members: MemberIds) {
  const some = <T extends string>(type: T, ids: readonly string[]) =>
    ids.length === 0 ? undefined : toMany(type, ids)
  return omitUndefined({
    policies: some('policies', members.policies),
    projects: some('projects', members.projects),
    workspaces: some('workspaces', members.workspaces),
    namespaces: some('namespaces', members.namespaces),
    'project-exclusions': some('projects', members['project-exclusions']),
    'workspace-exclusions': some('workspaces', members['workspace-exclusions']),
  })
}

export async function runPolicySetUpdate(invocation: CommandContext): Promise<number> {
  const { args, client, flags } = invocation
  const { id } = await findPolicySet(invocation, args[0] ?? '')
  const attributes = omitUndefined({ name: flags.string('name'), ...settingsOf(invocation) })
  await client.v2.updatePolicySet({
    params: { policy_set_id: id },
    body: resource('policy-sets', attributes),
  })
  return await printPolicySet(invocation, id)
}

function settingsOf(invocation: CommandContext) {
  return omitUndefined({
    description: invocation.flags.string('description'),
    global: booleanFlag(invocation, 'global'),
    overridable: booleanFlag(invocation, 'overridable'),
  })
}

export async function runPolicySetDelete(invocation: CommandContext): Promise<number> {
  const { id, attributes } = await findPolicySet(invocation, invocation.args[0] ?? '')
  await confirm(invocation, `Delete policy set "${attributes.name}"?`)
  await invocation.client.v2.deletePolicySet({ params: { policy_set_id: id } })
  invocation.output.printLine(`Policy set "${attributes.name}" is deleted.`)
  return EXIT_CODES.ok
}

type Parameter = ItemOf<'listPolicySetParameters'>

/** `policy-set param SET [KEY=VALUE…]`: sets and removes parameters and lists the result. */
export async function runPolicySetParam(invocation: CommandContext): Promise<number> {
  const { client, flags } = invocation
  const [name = '', ...words] = invocation.args
  const { id: policy_set_id } = await findPolicySet(invocation, name)
  const known = await readParameters(invocation, policy_set_id)
  for (const [key, value] of words.map(parseKeyValue)) {
    const attributes = { key, value, ...(flags.has('sensitive') ? { sensitive: true } : {}) }
    const existing = known.get(key)
    if (existing === undefined) {
      const body = resource('vars', { ...attributes, category: 'policy-set' })
      await client.v2.createPolicySetParameter({ params: { policy_set_id }, body })
    } else {
      const params = { policy_set_id, parameter_id: existing.id }
      await client.v2.updatePolicySetParameter({ params, body: resource('vars', attributes) })
    }
  }
  for (const key of flags.strings('remove')) {
    const existing = known.get(key)
    if (existing === undefined) {
      throw new CommandError(`The set has no parameter "${key}".`, { code: EXIT_CODES.missing })
    }
    const params = { policy_set_id, parameter_id: existing.id }
    await client.v2.deletePolicySetParameter({ params })
  }
  const parameters = client.pages('listPolicySetParameters', { params: { policy_set_id } })
  return await printList(invocation, parameters, {
    heading: ['Key', 'Value'],
    row: (parameter) => [parameter.attributes.key, formatValue(parameter)],
    empty: 'The set has no parameters. "reeve policy-set param SET KEY=VALUE" sets one.',
  })
}

/** Formats parameters as `most=20, key=(sensitive)`; empty if there are none. */
async function formatParameters(invocation: CommandContext, setId: string): Promise<string> {
  const known = await readParameters(invocation, setId)
  return [...known].map(([key, parameter]) => `${key}=${formatValue(parameter)}`).join(', ')
}

function formatValue({ attributes }: Parameter): string {
  return attributes.sensitive ? '(sensitive)' : (attributes.value ?? '')
}

async function readParameters(
  { client }: CommandContext,
  policy_set_id: string,
): Promise<ReadonlyMap<string, Parameter>> {
  const known = new Map<string, Parameter>()
  const pages = client.pages('listPolicySetParameters', { params: { policy_set_id } })
  for await (const parameter of pages) known.set(parameter.attributes.key, parameter)
  return known
}

function parseKeyValue(word: string): readonly [key: string, value: string] {
  const at = word.indexOf('=')
  if (at <= 0) throw new UsageError(`A parameter is KEY=VALUE, not "${word}".`)
  return [word.slice(0, at), word.slice(at + 1)]
}

/** `policy-set upload SET ARCHIVE`: uploads a new version, atomically. */
export async function runPolicySetUpload(invocation: CommandContext): Promise<number> {
  const { client, output } = invocation
  const [name = '', file = ''] = invocation.args
  const { id, attributes } = await findPolicySet(invocation, name)
  const archive = await readFileOrStdin(invocation, file, {
    bytesMax: v2.POLICY_SET_ARCHIVE_BYTES_MAX,
  })
  const { data: created } = await client.v2.createPolicySetVersion({
    params: { policy_set_id: id },
  })
  const params = { policy_set_version_id: created.data.id }
  await client.v2.uploadPolicySetVersion({ params, body: archive })
  const { data } = await client.v2.readPolicySetVersion({ params })
  const { status, error } = data.data.attributes
  if (status === 'errored') {
    throw new CommandError(`The archive was not taken: ${error ?? 'it cannot be read'}`, {
      hint: 'The set is as it was. "reeve policy check DIRECTORY" looks at the files here.',
    })
  }
  output.print(data, () => `Policy set "${attributes.name}" now has the policies of ${file}.`)
  return EXIT_CODES.ok
}
