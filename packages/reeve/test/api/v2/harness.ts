import assert from 'node:assert/strict'
import { HEADERS, v2, type RouteResponse, type Route, type Infer } from '@reeve/contract'
import type { TSchema } from 'typebox'
import { Value } from 'typebox/value'
import { schemaErrors } from '../../build/schema-errors.ts'
import { createTestServer, type Reply, type TestServer } from '../harness.ts'

type RouteId = v2.V2RouteId

export interface Call {
  readonly params?: Readonly<Record<string, string>>
  readonly query?: Readonly<Record<string, string | number | boolean>>
  /** Sent as JSON; a string is sent as it is. */
  readonly body?: unknown
  /** The bearer secret; the site administrator's unless given, none when null. */
  readonly as?: string | null
  readonly headers?: Readonly<Record<string, string>>
}

/** What a route answers when it succeeds with this status. */
type BodyOf<I extends RouteId, S extends number> = v2.V2Routes[I]['answers'] extends {
  readonly [status in S]: { readonly schema: infer B extends TSchema }
}
  ? Infer<B>
  : undefined

/** Status, and title with detail of every error as clients join them. */
export type Refused = readonly [number, ...string[]]

/** A server with a site administrator; every answer is held against the contract. */
export interface GovernanceServer {
  readonly server: TestServer
  /** The management token. */
  readonly root: string
  call(route: RouteId, call?: Call): Promise<Reply & { readonly json: unknown }>
  ok<I extends RouteId>(route: I, call?: Call): Promise<BodyOf<I, 200>>
  created<I extends RouteId>(route: I, call?: Call): Promise<BodyOf<I, 201>>
  /** For a call that answers 204. */
  done(route: RouteId, call?: Call): Promise<void>
  refusal(route: RouteId, call?: Call): Promise<Refused>
  /** A new user with a token. */
  user(name: string): Promise<{ readonly id: string; readonly token: string }>
  /** A new organization of the site administrator. */
  organization(name: string): Promise<v2.Organization>
  /** A new team with a token of its own; a team token acts as the team. */
  team(
    organization: string,
    name: string,
    access?: Partial<Record<v2.OrganizationAccess, boolean>>,
  ): Promise<{ readonly id: string; readonly token: string }>
  project(organization: string, attributes: object, tags?: object): Promise<v2.CreatedProject>
}

export async function aGovernanceServer(
  options: Parameters<typeof createTestServer>[0] = {},
): Promise<GovernanceServer> {
  const server = await createTestServer(options)
  const { SecretID: root } = await server.ok('bootstrapAcl')
  return governanceAt(server, root)
}

/** The same for a server that has an administrator, with this secret. */
export function governanceAt(server: TestServer, root: string): GovernanceServer {
  const it: GovernanceServer = {
    server,
    root,
    async call(id, call = {}) {
      const route: Route = v2.v2Routes[id]
      const reply = await server.send(route.methods[0] ?? 'GET', urlOf(route, call), {
        body: call.body,
        headers: headersOf(call, root),
      })
      const json: unknown = reply.text === '' ? undefined : JSON.parse(reply.text)
      checkAnswer(route, reply, json)
      return { ...reply, json }
    },
    async ok(id, call) {
      const reply = await it.call(id, call)
      assert.equal(reply.status, 200, `${id} answered ${reply.status} ${reply.text}`)
      // checkAnswer held it against the schema that BodyOf is made from.
      return reply.json as never
    },
    async created(id, call) {
      const reply = await it.call(id, call)
      assert.equal(reply.status, 201, `${id} answered ${reply.status} ${reply.text}`)
      // As above.
      return reply.json as never
    },
    async done(id, call) {
      const reply = await it.call(id, call)
      assert.deepEqual([reply.status, reply.text], [204, ''], `${id}: ${reply.text}`)
    },
    async refusal(id, call) {
      const reply = await it.call(id, call)
      assert.ok(reply.status >= 400, `${id} answered ${reply.status} ${reply.text}`)
      return refusedBy(reply)
    },
    async user(name) {
      const attributes = { username: name, email: `${name}@example.com` }
      const { data } = await it.created('createUser', { body: aBody('users', attributes) })
      const token = await it.created('createUserToken', {
        params: { user_id: data.id },
        body: aBody('authentication-tokens', {}),
      })
      return { id: data.id, token: token.data.attributes.token }
    },
    async organization(name) {
      const body = aBody('organizations', { name, email: `${name}@example.com` })
      return (await it.created('createOrganization', { body })).data
    },
    async team(organization, name, access = {}) {
      const attributes = { name, 'organization-access': access }
      const { data } = await it.created('createTeam', {
        params: { organization_name: organization },
        body: aBody('teams', attributes),
      })
      const token = await it.created('createSingleTeamToken', { params: { team_id: data.id } })
      return { id: data.id, token: token.data.attributes.token }
    },
    async project(organization, attributes, tags) {
      const body = aBody('projects', attributes, tags === undefined ? undefined : aTagged(tags))
      const params = { organization_name: organization }
      return (await it.created('createProject', { params, body })).data
    },
  }
  return it
}

/** A request document. */
export function aBody(type: string, attributes?: object, relationships?: object) {
  return { data: { type, attributes, relationships } }
}

/** `relationships` with these tags. */
export function aTagged(tags: object) {
  return { 'tag-bindings': { data: someTags(tags) } }
}

export function someTags(tags: object) {
  return Object.entries(tags).map(([key, value]: [string, unknown]) => ({
    type: 'tag-bindings',
    attributes: { key, value },
  }))
}

function headersOf({ as, body, headers }: Call, root: string): Record<string, string> {
  return {
    ...(as === null ? {} : { authorization: `Bearer ${as ?? root}` }),
    ...(body === undefined ? {} : { 'content-type': v2.JSON_API_TYPE }),
    ...headers,
  }
}

function urlOf(route: Route, { params = {}, query = {} }: Call): string {
  const path = route.path.replaceAll(/:(\w+)/g, (_all, name: string) =>
    encodeURIComponent(params[name] ?? ''),
  )
  const search = new URLSearchParams(
    Object.entries(query).map(([name, value]): [string, string] => [name, String(value)]),
  ).toString()
  return search === '' ? path : `${path}?${search}`
}

export function refusedBy(reply: Pick<Reply, 'status' | 'text'>): Refused {
  // The answer was held against the contract.
  const { errors } = JSON.parse(reply.text) as v2.ErrorDocument
  return [reply.status, ...errors.map(({ title, detail }) => `${title}: ${detail}`)]
}

/** Status, type and body must be as the contract says, and the body must hold nothing else. */
function checkAnswer(route: Route, reply: Reply, json: unknown): void {
  const answers: Readonly<Record<number, RouteResponse>> = route.answers
  const answer = answers[reply.status]
  const what = `${route.id} answered ${reply.status} ${reply.text.slice(0, 300)}`
  assert.ok(answer !== undefined, `${what}: the contract has no such status`)
  const type = reply.headers['content-type']
  if (answer.schema === undefined) {
    assert.deepEqual([reply.text, type], ['', undefined], `${what}: the body must be empty`)
    return
  }
  assert.equal(type, answer.contentType ?? v2.JSON_API_TYPE, what)
  checkCodes(reply, json)
  assert.deepEqual(schemaErrors(answer.schema, json), [], `${what}: not of the contract's shape`)
  const declared = Value.Clean(answer.schema, structuredClone(json))
  assert.deepEqual(json, declared, `${what}: holds members that the contract does not have`)
}

/** Every error object has a code, and the header has that of the first. */
function checkCodes(reply: Reply, json: unknown): void {
  const code = reply.headers[HEADERS.errorCode.toLowerCase()]
  if (reply.status < 400) return assert.equal(code, undefined)
  // Held against the shape of an error document by the caller.
  const { errors } = json as v2.ErrorDocument
  assert.equal(code, errors[0]?.code)
  for (const error of errors) assert.match(error.code ?? '', /^[a-z]+(?:-[a-z]+)*$/)
}

export const NOT_FOUND = [404, 'not found: Not found, or not for you to see or change.'] as const
