import type { AclToken, AclTokenRequest, AclTokenStub } from '@reeve/contract'
import type { Invocation } from '../command.ts'
import { EXIT_CODES } from '../exit-code.ts'
import { UsageError } from '../failure.ts'
import { findById, idText } from '../find-id.ts'
import { knownFields } from '../output/known-fields.ts'
import { table } from '../output/table.ts'
import { agoFromIso } from '../output/time.ts'
import { fileText } from '../spec-file/file-text.ts'

const TYPES = ['client', 'management'] as const

/** The first management token; it works once. */
export async function runAclBootstrap(invocation: Invocation): Promise<number> {
  const { args, client, output } = invocation
  const [path] = args
  const BootstrapSecret = path === undefined ? '' : (await fileText(invocation, path)).trim()
  const { data } = await client.v1.bootstrapAcl({ body: { BootstrapSecret } })
  output.show(data, () => tokenText(data, invocation))
  if (!output.isForMachines) output.note(KEEP_IT)
  return EXIT_CODES.ok
}

const KEEP_IT = 'Save the secret: it is shown only once. Use it with "reeve login" or REEVE_TOKEN.'

/** `acl can`: checks whether the token has a capability. */
export async function runAclCan({ args, client, output }: Invocation): Promise<number> {
  const [capability = '', name] = args
  const { data } = await client.v1.checkAccess({
    query: { capability, ...(name !== undefined && { name }) },
  })
  const { Allowed, AclEnabled } = data
  output.show(data, () => output.paint(Allowed ? 'good' : 'bad', Allowed ? 'yes' : 'no'))
  if (!AclEnabled) output.note('ACLs are disabled: every request is allowed.')
  return Allowed ? EXIT_CODES.ok : EXIT_CODES.denied
}

export async function runTokenCreate(invocation: Invocation): Promise<number> {
  const { client, output } = invocation
  const body = { Type: 'client', ...wishedToken(invocation) }
  const hasRights = [...(body.Policies ?? []), ...(body.Roles ?? [])].length > 0
  if (body.Type === 'client' && !hasRights) {
    throw new UsageError('a client token needs --policy or --role; or give --type management.')
  }
  const { data } = await client.v1.createAclToken({ body })
  output.show(data, () => tokenText(data, invocation))
  return EXIT_CODES.ok
}

/** Only what was named. */
function wishedToken({ flags }: Invocation): AclTokenRequest {
  const name = flags.text('name')
  const type = flags.oneOf('type', TYPES)
  const policies = flags.texts('policy')
  const roles = flags.texts('role')
  const ttl = flags.text('ttl')
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

export function roleLink(given: string): { readonly ID: string } | { readonly Name: string } {
  return UUID.test(given) ? { ID: given } : { Name: given }
}

export async function runTokenUpdate(invocation: Invocation): Promise<number> {
  const { client, output } = invocation
  const wish = wishedToken(invocation)
  if (Object.keys(wish).length === 0) {
    throw new UsageError('name what to change: --name, --type, --policy or --role.')
  }
  const { AccessorID, Name, Type, Policies, Roles } = await findToken(invocation)
  const known = { AccessorID, Name, Type, Policies: Policies ?? [], Roles: Roles ?? [] }
  // A management token has all rights, and may name none.
  const rights = wish.Type === 'management' ? { Policies: [], Roles: [] } : {}
  const { data } = await client.v1.updateAclToken({
    params: { accessor_id: AccessorID },
    body: { ...known, ...rights, ...wish },
  })
  output.show(data, () => tokenText(data, invocation))
  return EXIT_CODES.ok
}

export async function runTokenRead(invocation: Invocation): Promise<number> {
  const { client, output } = invocation
  const { AccessorID } = await findToken(invocation)
  const { data } = await client.v1.readAclToken({ params: { accessor_id: AccessorID } })
  output.show(data, () => tokenText(data, invocation))
  return EXIT_CODES.ok
}

export async function runTokenSelf(invocation: Invocation): Promise<number> {
  const { client, output } = invocation
  const { data } = await client.v1.readOwnAclToken()
  output.show(data, () => tokenText(data, invocation))
  return EXIT_CODES.ok
}

export async function runTokenDelete(invocation: Invocation): Promise<number> {
  const { client, output } = invocation
  const { AccessorID, Name } = await findToken(invocation)
  await client.v1.deleteAclToken({ params: { accessor_id: AccessorID } })
  output.say(`Token ${AccessorID}${Name === '' ? '' : ` ("${Name}")`} is deleted.`)
  return EXIT_CODES.ok
}

export async function runTokenList(invocation: Invocation): Promise<number> {
  const { client, flags, host, output, signal } = invocation
  const query = { filter: flags.text('filter'), global: flags.has('global') || undefined }
  const found: AclTokenStub[] = []
  for await (const token of client.pages('listAclTokens', { query, signal })) found.push(token)
  output.show(found, () => {
    if (found.length === 0) return 'There are no such tokens.'
    const rows = found.map((token) => [
      idText(token.AccessorID, flags.has('verbose')),
      token.Name,
      token.Type,
      token.Global ? 'yes' : 'no',
      rightsText(token),
      agoFromIso(token.CreateTime, host.nowMs()),
      expiryText(token, host.nowMs()),
    ])
    return table(['Accessor', 'Name', 'Type', 'Global', 'Rights', 'Created', 'Expires'], rows)
  })
  return EXIT_CODES.ok
}

/** A whole accessor is read as it is: who holds a token may read it without listing others. */
async function findToken(invocation: Invocation): Promise<AclTokenStub> {
  const { args, client, signal } = invocation
  const given = args[0] ?? ''
  if (UUID.test(given)) {
    return (await client.v1.readAclToken({ params: { accessor_id: given.toLowerCase() } })).data
  }
  return await findById({
    noun: 'token',
    given,
    lists: 'reeve acl token list',
    search: async function* (prefix) {
      const request = { query: { prefix }, signal }
      for await (const token of client.pages('listAclTokens', request)) {
        yield { ...token, ID: token.AccessorID }
      }
    },
    describe: ({ Name, Type }) => `${Name}, ${Type}`,
  })
}

function tokenText(token: AclToken, { host }: Invocation): string {
  const nowMs = host.nowMs()
  return knownFields([
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
