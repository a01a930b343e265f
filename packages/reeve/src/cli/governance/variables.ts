import { v2 } from '@reeve/contract'
import { includedResources, resource, type ItemOf, toMany, toOne } from '@reeve/sdk'
import type { CommandContext } from '../command.ts'
import { confirm } from '../confirm.ts'
import { CommandError, EXIT_CODES, UsageError } from '../errors.ts'
import { readStdin } from '../input.ts'
import { renderNonEmptyFields, renderTable } from '../output/format.ts'
import { findProject, findVariableSet, findWorkspace } from './find.ts'
import { resolveOrganization } from './flags.ts'
import { booleanFlag, omitUndefined, printList } from './output.ts'

/** Variables of runs: those of workspaces and of variable sets have the same commands. */

type Attributes = v2.WorkspaceVariable['attributes']

interface VariableRecord {
  readonly id: string
  readonly attributes: Attributes
}

type Category = Attributes['category']

/** Attributes of a request; what is absent stays as it is. */
interface VariableInput {
  readonly key: string
  readonly category: Category
  readonly value: string
  readonly hcl?: boolean
  readonly sensitive?: boolean
  readonly description?: string
}

/** The calls that a command needs, for one workspace or one set. */
export interface VariableApi {
  /** How the owner is named in messages: `The workspace`. */
  readonly owner: string
  list(): Promise<readonly VariableRecord[]>
  create(attributes: VariableInput): Promise<unknown>
  update(id: string, attributes: VariableInput): Promise<unknown>
  delete(id: string): Promise<unknown>
}

const [INPUT, ENVIRONMENT] = v2.VARIABLE_CATEGORIES

function categoryOf({ flags }: CommandContext): Category {
  return flags.has('env') ? ENVIRONMENT : INPUT
}

/** Sets each `KEY=VALUE`; a key alone reads its value from standard input. */
export async function setVariables(
  invocation: CommandContext,
  calls: VariableApi,
  words: readonly string[],
): Promise<number> {
  const { flags } = invocation
  const category = categoryOf(invocation)
  const description = flags.string('description')
  const inputs: VariableInput[] = []
  for (const word of words)
    inputs.push({
      ...(await parseVariable(invocation, word, words.length)),
      category,
      ...(flags.has('hcl') ? { hcl: true } : {}),
      ...(flags.has('sensitive') ? { sensitive: true } : {}),
      ...(description === undefined ? {} : { description }),
    })
  const known = await calls.list()
  for (const input of inputs) {
    const existing = findVariable(known, input)
    await (existing === undefined ? calls.create(input) : calls.update(existing.id, input))
  }
  return await listVariables(invocation, calls)
}

async function parseVariable(
  invocation: CommandContext,
  word: string,
  count: number,
): Promise<{ readonly key: string; readonly value: string }> {
  const at = word.indexOf('=')
  if (at === 0) throw new UsageError(`A variable is KEY=VALUE, not "${word}".`)
  if (at > 0) return { key: word.slice(0, at), value: word.slice(at + 1) }
  if (count > 1)
    throw new UsageError(
      `"${word}" has no value: KEY alone reads standard input, and must be the only one.`,
    )
  const bytes = await readStdin(invocation, v2.PARAMETER_VALUE_LENGTH_MAX)
  return { key: word, value: new TextDecoder().decode(bytes).replace(/\n$/, '') }
}

function findVariable(
  known: readonly VariableRecord[],
  { key, category }: Pick<VariableInput, 'key' | 'category'>,
): VariableRecord | undefined {
  return known.find(({ attributes }) => attributes.key === key && attributes.category === category)
}

/** Deletes variables by key, all or none of them. */
export async function unsetVariables(
  invocation: CommandContext,
  calls: VariableApi,
  keys: readonly string[],
): Promise<number> {
  const category = categoryOf(invocation)
  const known = await calls.list()
  const found = keys.map((key) => {
    const variable = findVariable(known, { key, category })
    if (variable !== undefined) return variable
    throw new CommandError(`${calls.owner} has no ${formatCategory(category)} variable "${key}".`, {
      code: EXIT_CODES.missing,
    })
  })
  for (const { id } of found) await calls.delete(id)
  return await listVariables(invocation, calls)
}

export async function listVariables(
  { output }: CommandContext,
  calls: Pick<VariableApi, 'list' | 'owner'>,
): Promise<number> {
  const all = await calls.list()
  output.print(all, () =>
    all.length === 0 ? `${calls.owner} has no variables.` : variableTable(all),
  )
  return EXIT_CODES.ok
}

function variableTable(all: readonly VariableRecord[]): string {
  const row = ({ attributes }: VariableRecord): readonly string[] => [
    attributes.key,
    formatCategory(attributes.category),
    formatValue(attributes),
    attributes.description ?? '',
  ]
  return renderTable(['Key', 'Kind', 'Value', 'Description'], all.map(row))
}

function formatCategory(category: Category): string {
  return category === ENVIRONMENT ? 'environment' : 'input'
}

function formatValue({ sensitive, value }: Pick<Attributes, 'sensitive' | 'value'>): string {
  return sensitive ? '(sensitive)' : (value ?? '')
}

type VariableSet = ItemOf<'listVariableSets'>

export async function runVarsetList(invocation: CommandContext): Promise<number> {
  const { flags } = invocation
  return await printList(
    invocation,
    await listVariableSets(invocation, flags.string('workspace')),
    {
      heading: ['Name', 'Variables', 'Applies to', 'Priority', 'ID'],
      row: (set) => [
        set.attributes.name,
        String(set.attributes['var-count']),
        formatScope(set),
        set.attributes.priority ? 'yes' : 'no',
        set.id,
      ],
      empty: 'There are no such variable sets. "reeve varset create NAME" creates one.',
    },
  )
}

async function listVariableSets(
  invocation: CommandContext,
  workspace: string | undefined,
): Promise<AsyncIterable<VariableSet>> {
  const { client, flags } = invocation
  if (workspace === undefined)
    return client.pages('listVariableSets', {
      params: await resolveOrganization(invocation),
      query: { q: flags.string('search') },
    })
  const { id } = await findWorkspace(invocation, workspace)
  return client.pages('listWorkspaceVariableSets', { params: { workspace_id: id } })
}

function formatScope({ attributes }: VariableSet): string {
  if (attributes.global) return 'all workspaces'
  const parts = [
    formatCount(attributes['project-count'], 'project'),
    formatCount(attributes['workspace-count'], 'workspace'),
  ].filter((part) => part !== '')
  return parts.length === 0 ? 'nothing' : parts.join(', ')
}

function formatCount(count: number, noun: string): string {
  return count === 0 ? '' : `${count} ${count === 1 ? noun : `${noun}s`}`
}

export async function runVarsetShow(invocation: CommandContext): Promise<number> {
  const { id } = await findVariableSet(invocation, invocation.args[0] ?? '')
  return await printVariableSet(invocation, id)
}

/** Prints the current variable set with its scope and variables. */
async function printVariableSet(invocation: CommandContext, id: string): Promise<number> {
  const { client, output } = invocation
  const { data } = await client.v2.readVariableSet({
    params: { variable_set_id: id },
    query: { include: 'workspaces,projects,vars' },
  })
  const { attributes, relationships } = data.data
  const namesOf = (type: 'workspaces' | 'projects'): string => {
    const named = new Map(includedResources(data, type).map((one) => [one.id, one.attributes.name]))
    return relationships[type].data.map((one) => named.get(one.id) ?? one.id).join(', ')
  }
  const variables = includedResources(data, 'vars').map(
    (one) => `${one.attributes.key}=${formatValue(one.attributes)}`,
  )
  output.print(data, () =>
    renderNonEmptyFields([
      ['Name', attributes.name],
      ['ID', id],
      ['Description', attributes.description ?? ''],
      ['Owner', formatOwner(data.data)],
      ['Applies to', formatScope(data.data)],
      ['Projects', namesOf('projects')],
      ['Workspaces', namesOf('workspaces')],
      ['Priority', attributes.priority ? 'yes' : 'no'],
      ['Variables', variables.join(', ')],
    ]),
  )
  return EXIT_CODES.ok
}

function formatOwner({ relationships }: VariableSet): string {
  const { type, id } = relationships.parent.data
  return type === 'projects' ? `project ${id}` : `organization ${id}`
}

export async function runVarsetSet(invocation: CommandContext): Promise<number> {
  return await setVariables(invocation, await variableApi(invocation), invocation.args.slice(1))
}

export async function runVarsetUnset(invocation: CommandContext): Promise<number> {
  return await unsetVariables(invocation, await variableApi(invocation), invocation.args.slice(1))
}

async function variableApi(invocation: CommandContext): Promise<VariableApi> {
  const { v2: api } = invocation.client
  const { id } = await findVariableSet(invocation, invocation.args[0] ?? '')
  const params = { variable_set_id: id }
  const one = (set_variable_id: string) => ({ ...params, set_variable_id })
  return {
    owner: 'The variable set',
    list: async () => (await api.listVariableSetVariables({ params })).data.data,
    create: (attributes) =>
      api.createVariableSetVariable({ params, body: resource('vars', attributes) }),
    update: (variable, attributes) =>
      api.updateVariableSetVariable({ params: one(variable), body: resource('vars', attributes) }),
    delete: (variable) => api.deleteVariableSetVariable({ params: one(variable) }),
  }
}

export async function runVarsetCreate(invocation: CommandContext): Promise<number> {
  const { args, client, flags } = invocation
  const { workspaces, projects } = await resolveMemberIds(invocation)
  const owner = flags.string('owner')
  const relationships = omitUndefined({
    parent:
      owner === undefined
        ? undefined
        : toOne('projects', (await findProject(invocation, owner)).id),
    workspaces: workspaces.length === 0 ? undefined : toMany('workspaces', workspaces),
    projects: projects.length === 0 ? undefined : toMany('projects', projects),
  })
  const attributes = { name: args[0] ?? '', ...settingsOf(invocation) }
  const { data } = await client.v2.createVariableSet({
    params: await resolveOrganization(invocation),
    body: resource('varsets', attributes, relationships),
  })
  return await printVariableSet(invocation, data.data.id)
}

export async function runVarsetUpdate(invocation: CommandContext): Promise<number> {
  const { args, client, flags } = invocation
  const { id } = await findVariableSet(invocation, args[0] ?? '')
  const attributes = omitUndefined({ name: flags.string('name'), ...settingsOf(invocation) })
  await client.v2.updateVariableSet({
    params: { variable_set_id: id },
    body: resource('varsets', attributes),
  })
  return await printVariableSet(invocation, id)
}

function settingsOf(invocation: CommandContext) {
  return omitUndefined({
    description: invocation.flags.string('description'),
    global: booleanFlag(invocation, 'global'),
    priority: booleanFlag(invocation, 'priority'),
  })
}

export async function runVarsetDelete(invocation: CommandContext): Promise<number> {
  const { id, attributes } = await findVariableSet(invocation, invocation.args[0] ?? '')
  await confirm(invocation, `Delete variable set "${attributes.name}" with its variables?`)
  await invocation.client.v2.deleteVariableSet({ params: { variable_set_id: id } })
  invocation.output.printLine(`Variable set "${attributes.name}" is deleted.`)
  return EXIT_CODES.ok
}

export async function runVarsetAdd(invocation: CommandContext): Promise<number> {
  const { v2: api } = invocation.client
  return await changeMembers(invocation, {
    workspaces: api.addVariableSetWorkspaces,
    projects: api.addVariableSetProjects,
  })
}

export async function runVarsetRemove(invocation: CommandContext): Promise<number> {
  const { v2: api } = invocation.client
  return await changeMembers(invocation, {
    workspaces: api.removeVariableSetWorkspaces,
    projects: api.removeVariableSetProjects,
  })
}

type Api = CommandContext['client']['v2']

interface MembershipCalls {
  readonly workspaces: Api['addVariableSetWorkspaces'] | Api['removeVariableSetWorkspaces']
  readonly projects: Api['addVariableSetProjects'] | Api['removeVariableSetProjects']
}

async function changeMembers(invocation: CommandContext, calls: MembershipCalls): Promise<number> {
  const { id } = await findVariableSet(invocation, invocation.args[0] ?? '')
  const { workspaces, projects } = await resolveMemberIds(invocation)
  if (workspaces.length + projects.length === 0)
    throw new UsageError('Name workspaces or projects with --workspace or --project.')
  const params = { variable_set_id: id }
  if (workspaces.length > 0)
    await calls.workspaces({ params, body: toMany('workspaces', workspaces) })
  if (projects.length > 0) await calls.projects({ params, body: toMany('projects', projects) })
  return await printVariableSet(invocation, id)
}

async function resolveMemberIds(invocation: CommandContext) {
  const { flags } = invocation
  const idsOf = async (
    flag: string,
    find: (invocation: CommandContext, given: string) => Promise<{ readonly id: string }>,
  ): Promise<readonly string[]> =>
    (await Promise.all(flags.strings(flag).map((name) => find(invocation, name)))).map(
      ({ id }) => id,
    )
  return {
    workspaces: await idsOf('workspace', findWorkspace),
    projects: await idsOf('project', findProject),
  }
}
