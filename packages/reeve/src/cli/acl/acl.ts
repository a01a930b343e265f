import type {
  AclPolicyRecord,
  AclRole,
  AclToken,
  AclTokenRequest,
  AclTokenStub,
} from '@reeve/contract'
import type { CommandContext } from '../command.ts'
import { CommandError, EXIT_CODES, UsageError } from '../errors.ts'
import { resolveIdPrefix, formatId, undefinedIfNotFound } from '../resolve.ts'
import { agoFromIso, renderFields, renderNonEmptyFields, renderTable } from '../output/format.ts'
import { readTextFile } from '../input.ts'

const TYPES = ['client', 'management'] as const

/** Creates the first management token. The server accepts this only once. */
export async function runAclBootstrap(invocation: CommandContext): Promise<number> {
  const { args, client, output } = invocation
  const [path] = args
  const BootstrapSecret = path === undefined ? '' : (await readTextFile(invocation, path)).trim()
  const { data } = await client.v1.bootstrapAcl({ body: { BootstrapSecret } })
  output.print(data, () => tokenText(data, invocation))
  if (!output.isStructured) output.printNotice(KEEP_IT)
  return EXIT_CODES.ok
}

const KEEP_IT = 'Save the secret: it is shown only once. Use it with "reeve login" or REEVE_TOKEN.'

/** `acl can`: checks whether the token has a capability. */
export async function runAclCan({ args, client, output }: CommandContext): Promise<number> {
  const [capability = '', name] = args
  const { data } = await client.v1.checkAccess({
    query: { capability, ...(name !== undefined && { name }) },
  })
  const { Allowed, AclEnabled } = data
  output.print(data, () => output.paint(Allowed ? 'good' : 'bad', Allowed ? 'yes' : 'no'))
  if (!AclEnabled) output.printNotice('ACLs are disabled: every request is allowed.')
  return Allowed ? EXIT_CODES.ok : EXIT_CODES.denied
}

export async function runTokenCreate(invocation: CommandContext): Promise<number> {
  const { client, output } = invocation
  const body = { Type: 'client', ...wishedToken(invocation) }
  const hasRights = [...(body.Policies ?? []), ...(body.Roles ?? [])].length > 0
  if (body.Type === 'client' && !hasRights) {
    throw new UsageError('a client token needs --policy or --role; or give --type management.')
  }
  const { data } = await client.v1.createAclToken({ body })
  output.print(data, () => tokenText(data, invocation))
  return EXIT_CODES.ok
}

/** Returns the token fields that the flags set. */
function wishedToken({ flags }: CommandContext): AclTokenRequest {
  const name = flags.string('name')
  const type = flags.oneOf('type', TYPES)
  const policies = flags.strings('policy')
  const roles = flags.strings('role')
  const ttl = flags.string('ttl')
  return {
    ...(name === undefined ? {} : { Name: name }),
    ...(type === undefined ? {} : { Type: type }),
    ...(policies.length === 0 ? {} : { Policies: [...policies] }),
    ...(roles.length === 0 ? {} : { Roles: roles.map(roleLink) }),
    ...(flags.has('global') ? { Global: true } : {}),
    ...(ttl === undefined ? {} : { ExpirationTTL: ttl }),
  }
}

const UUID = /^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$/i

function roleLink(given: string): { readonly ID: string } | { readonly Name: string } {
  return UUID.test(given) ? { ID: given } : { Name: given }
}

export async function runTokenUpdate(invocation: CommandContext): Promise<number> {
  const { client, output } = invocation
  const wish = wishedToken(invocation)
  if (Object.keys(wish).length === 0) {
    throw new UsageError('name what to change: --name, --type, --policy or --role.')
  }
  const { AccessorID, Name, Type, Policies, Roles } = await findToken(invocation)
  const known = { AccessorID, Name, Type, Policies: Policies ?? [], Roles: Roles ?? [] }
  // A management token has all permissions and must not name policies or roles.
  const rights = wish.Type === 'management' ? { Policies: [], Roles: [] } : {}
  const { data } = await client.v1.updateAclToken({
    params: { accessor_id: AccessorID },
    body: { ...known, ...rights, ...wish },
  })
  output.print(data, () => tokenText(data, invocation))
  return EXIT_CODES.ok
}

export async function runTokenRead(invocation: CommandContext): Promise<number> {
  const { client, output } = invocation
  const { AccessorID } = await findToken(invocation)
  const { data } = await client.v1.readAclToken({ params: { accessor_id: AccessorID } })
  output.print(data, () => tokenText(data, invocation))
  return EXIT_CODES.ok
}

export async function runTokenSelf(invocation: CommandContext): Promise<number> {
  const { client, output } = invocation
  const { data } = await client.v1.readOwnAclToken()
  output.print(data, () => tokenText(data, invocation))
  return EXIT_CODES.ok
}

export async function runTokenDelete(invocation: CommandContext): Promise<number> {
  const { client, output } = invocation
  const { AccessorID, Name } = await findToken(invocation)
  await client.v1.deleteAclToken({ params: { accessor_id: AccessorID } })
  output.printLine(`Token ${AccessorID}${Name === '' ? '' : ` ("${Name}")`} is deleted.`)
  return EXIT_CODES.ok
}

export async function runTokenList(invocation: CommandContext): Promise<number> {
  const { client, flags, host, output, signal } = invocation
  const query = { filter: flags.string('filter'), global: flags.has('global') || undefined }
  const found: AclTokenStub[] = []
  for await (const token of client.pages('listAclTokens', { query, signal })) found.push(token)
  output.print(found, () => {
    if (found.length === 0) return 'There are no such tokens.'
    const rows = found.map((token) => [
      formatId(token.AccessorID, flags.has('verbose')),
      token.Name,
      token.Type,
      token.Global ? 'yes' : 'no',
      rightsText(token),
      agoFromIso(token.CreateTime, host.nowMs()),
      expiryText(token, host.nowMs()),
    ])
    return renderTable(['Accessor', 'Name', 'Type', 'Global', 'Rights', 'Created', 'Expires'], rows)
  })
  return EXIT_CODES.ok
}

/**
 * Finds the token by accessor ID or ID prefix. A full ID is read directly, because a token may be
 * read without the permission to list tokens.
 */
async function findToken(invocation: CommandContext): Promise<AclTokenStub> {
  const { args, client, signal } = invocation
  const given = args[0] ?? ''
  if (UUID.test(given)) {
    return (await client.v1.readAclToken({ params: { accessor_id: given.toLowerCase() } })).data
  }
  return await resolveIdPrefix({
    noun: 'token',
    input: given,
    listCommand: 'reeve acl token list',
    search: async function* (prefix) {
      const request = { query: { prefix }, signal }
      for await (const token of client.pages('listAclTokens', request)) {
        yield { ...token, ID: token.AccessorID }
      }
    },
    describe: ({ Name, Type }) => `${Name}, ${Type}`,
  })
}

function tokenText(token: AclToken, { host }: CommandContext): string {
  const nowMs = host.nowMs()
  return renderNonEmptyFields([
    ['Accessor', token.AccessorID],
    ['Secret', token.SecretID],
    ['Name', token.Name],
    ['Type', token.Type],
    ['Global', token.Global ? 'yes' : 'no'],
    ['Policies', (token.Policies ?? []).join(', ')],
    ['Roles', (token.Roles ?? []).map(({ Name }) => Name).join(', ')],
    ['Created', agoFromIso(token.CreateTime, nowMs)],
    ['Expires', expiryText(token, nowMs)],
  ])
}

function rightsText({ Type, Policies, Roles }: AclTokenStub): string {
  if (Type === 'management') return 'all'
  return [...(Policies ?? []), ...(Roles ?? []).map(({ Name }) => `role ${Name}`)].join(', ')
}

function expiryText({ ExpirationTime }: AclTokenStub, nowMs: number): string {
  if (ExpirationTime === null) return ''
  return Date.parse(ExpirationTime) > nowMs ? ExpirationTime : 'expired'
}

export async function runRoleList({ client, flags, output }: CommandContext): Promise<number> {
  const { data } = await client.v1.listAclRoles()
  output.print(data, () => {
    if (data.length === 0) return 'There are no roles that the token may read.'
    const rows = data.map((role) => [
      formatId(role.ID, flags.has('verbose')),
      role.Name,
      policyNames(role),
      role.Description,
    ])
    return renderTable(['ID', 'Name', 'Policies', 'Description'], rows)
  })
  return EXIT_CODES.ok
}

export async function runRoleRead(invocation: CommandContext): Promise<number> {
  const role = await findRole(invocation)
  invocation.output.print(role, () => roleText(role))
  return EXIT_CODES.ok
}

export async function runRoleCreate({ client, flags, output }: CommandContext): Promise<number> {
  const Name = flags.string('name')
  const policies = flags.strings('policy')
  if (Name === undefined || policies.length === 0) {
    throw new UsageError('a role needs --name and at least one --policy.')
  }
  const Policies = policies.map((policy) => ({ Name: policy }))
  const body = { Name, Description: flags.string('description') ?? '', Policies }
  const { data } = await client.v1.createAclRole({ body })
  output.print(data, () => roleText(data))
  return EXIT_CODES.ok
}

export async function runRoleUpdate(invocation: CommandContext): Promise<number> {
  const { client, flags, output } = invocation
  const { ID, Name, Description, Policies } = await findRole(invocation)
  const policies = flags.strings('policy').map((policy) => ({ Name: policy }))
  const body = {
    ID,
    Name: flags.string('name') ?? Name,
    Description: flags.string('description') ?? Description,
    Policies: policies.length === 0 ? Policies : policies,
  }
  const { data } = await client.v1.updateAclRole({ params: { role_id: ID }, body })
  output.print(data, () => roleText(data))
  return EXIT_CODES.ok
}

export async function runRoleDelete(invocation: CommandContext): Promise<number> {
  const { client, output } = invocation
  const { ID, Name } = await findRole(invocation)
  await client.v1.deleteAclRole({ params: { role_id: ID } })
  output.printLine(`Role "${Name}" is deleted.`)
  return EXIT_CODES.ok
}

/** Finds the role with the ID or name in the first argument. */
async function findRole({ args, client }: CommandContext): Promise<AclRole> {
  const given = args[0] ?? ''
  const link = roleLink(given)
  const found = await undefinedIfNotFound(() =>
    'ID' in link
      ? client.v1.readAclRole({ params: { role_id: link.ID } })
      : client.v1.readAclRoleByName({ params: { role_name: given } }),
  )
  if (found !== undefined) return found.data
  throw new CommandError(`There is no role "${given}".`, {
    code: EXIT_CODES.missing,
    hint: 'For a list, run "reeve acl role list".',
  })
}

function roleText(role: AclRole): string {
  return renderFields([
    ['ID', role.ID],
    ['Name', role.Name],
    ['Description', role.Description],
    ['Policies', policyNames(role)],
  ])
}

function policyNames({ Policies }: AclRole): string {
  return Policies.map(({ Name }) => Name).join(', ')
}

export async function runAclPolicyList({ client, output }: CommandContext): Promise<number> {
  const { data } = await client.v1.listAclPolicies()
  output.print(data, () => {
    if (data.length === 0) return 'There are no policies that the token may read.'
    const rows = data.map(({ Name, Description }) => [Name, Description])
    return renderTable(['Name', 'Description'], rows)
  })
  return EXIT_CODES.ok
}

export async function runAclPolicyRead({ args, client, output }: CommandContext): Promise<number> {
  const { data } = await client.v1.readAclPolicy({ params: { policy_name: args[0] ?? '' } })
  output.print(data, () => policyText(data))
  return EXIT_CODES.ok
}

export async function runAclPolicySelf({ client, output }: CommandContext): Promise<number> {
  const { data } = await client.v1.listOwnAclPolicies()
  output.print(data, () =>
    data.length === 0
      ? 'The token has no policies: a management token has full access.'
      : data.map(policyText).join('\n'),
  )
  return EXIT_CODES.ok
}

function policyText({ Name, Description, JobACL, Rules }: AclPolicyRecord): string {
  const workload =
    JobACL === null
      ? ''
      : [JobACL.Namespace, JobACL.JobID, JobACL.Group, JobACL.Task]
          .filter((part) => part !== '')
          .join(' / ')
  const about = renderNonEmptyFields([
    ['Name', Name],
    ['Description', Description],
    ['Workload', workload],
  ])
  return `${about}\nRules\n${Rules.trim()}\n`
}

export async function runAclPolicyApply(invocation: CommandContext): Promise<number> {
  const { args, client, flags, output } = invocation
  const [Name = '', path = ''] = args
  const Rules = await readTextFile(invocation, path)
  const params = { policy_name: Name }
  const known = await undefinedIfNotFound(() => client.v1.readAclPolicy({ params }))
  const Description = flags.string('description') ?? known?.data.Description ?? ''
  const JobACL = workloadOf(invocation) ?? known?.data.JobACL ?? null
  await client.v1.writeAclPolicy({ params, body: { Name, Description, Rules, JobACL } })
  output.printLine(`Policy "${Name}" is stored.`)
  return EXIT_CODES.ok
}

/** The workload whose identity has the policy. */
function workloadOf({ flags, settings }: CommandContext) {
  const JobID = flags.string('job')
  if (JobID === undefined) return undefined
  const Group = flags.string('group') ?? ''
  const Task = flags.string('task') ?? ''
  return { Namespace: settings.namespace ?? 'default', JobID, Group, Task }
}

export async function runAclPolicyDelete({
  args,
  client,
  output,
}: CommandContext): Promise<number> {
  const name = args[0] ?? ''
  // The API accepts the deletion of a missing policy; the read reports a mistyped name.
  await client.v1.readAclPolicy({ params: { policy_name: name } })
  await client.v1.deleteAclPolicy({ params: { policy_name: name } })
  output.printLine(`Policy "${name}" is deleted.`)
  return EXIT_CODES.ok
}
