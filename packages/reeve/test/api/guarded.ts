import assert from 'node:assert/strict'
import type { AclToken, Input, Job } from '@reeve/contract'
import { register } from './cluster.ts'
import type { CallOptions, TestServer } from './harness.ts'
import { aBody, aGovernanceServer, type GovernanceServer } from './v2/harness.ts'

/** A policy to be made; a native one that is hard unless said otherwise. */
export interface PolicyFields {
  readonly code: string
  readonly name?: string
  readonly kind?: 'native' | 'opa'
  readonly level?: string
  readonly query?: string
  readonly description?: string
}

export interface SetFields {
  readonly name?: string
  readonly kind?: 'native' | 'opa'
  readonly overridable?: boolean
  readonly global?: boolean
  /** Those of the set `default` unless given. */
  readonly namespaces?: readonly string[]
  readonly projects?: readonly string[]
  readonly 'project-exclusions'?: readonly string[]
  readonly params?: Readonly<Record<string, string>>
}

/** A server with an organization `acme` whose policies guard namespaces. */
export interface GuardedServer {
  readonly it: GovernanceServer
  readonly server: TestServer
  readonly root: string
  /** A policy with its code; its id. */
  readonly policy: (fields: PolicyFields) => Promise<string>
  readonly upload: (policyId: string, code: string) => Promise<void>
  /** A set of policies; its id. */
  readonly set: (policies: readonly string[], fields?: SetFields) => Promise<string>
  /** One policy alone in a set that guards `default`. */
  readonly guard: (
    fields: PolicyFields,
    set?: SetFields,
  ) => Promise<{ readonly policy: string; readonly set: string }>
  /** The options of a call, as the bootstrap token unless another is given. */
  readonly as: (options: CallOptions, token?: string) => CallOptions
  /** A registration as the bootstrap token. */
  readonly register: (job?: Input<Job>, request?: object) => CallOptions
  readonly client: (rules: string) => Promise<AclToken>
}

const ACME = { organization_name: 'acme' }

export async function aGuardedServer(
  options: Parameters<typeof aGovernanceServer>[0] = {},
): Promise<GuardedServer> {
  return await guardedAt(await aGovernanceServer(options))
}

/** The same for a server that is there already. */
export async function guardedAt(it: GovernanceServer): Promise<GuardedServer> {
  await it.organization('acme')
  const { server, root } = it
  let count = 0
  const as: GuardedServer['as'] = (call, token = root) => ({ ...call, token })
  const guarded: GuardedServer = {
    it,
    server,
    root,
    as,
    async policy({ code, kind = 'native', level, query, name = `policy-${++count}`, description }) {
      const attributes = {
        name,
        kind,
        ...(kind === 'opa' ? { query: query ?? 'data.jobs.deny' } : {}),
        ...(description === undefined ? {} : { description }),
        'enforcement-level': level ?? (kind === 'opa' ? 'mandatory' : 'hard-mandatory'),
      }
      const body = aBody('policies', attributes)
      const { data } = await it.ok('createPolicy', { params: ACME, body })
      await guarded.upload(data.id, code)
      return data.id
    },
    async upload(policyId, code) {
      const { status, text } = await server.send('PUT', `/api/v2/policies/${policyId}/upload`, {
        body: code,
        headers: {
          authorization: `Bearer ${root}`,
          'content-type': 'application/octet-stream',
        },
      })
      assert.equal(status, 200, text)
    },
    async set(policies, fields = {}) {
      const { params = {}, namespaces, projects, ...rest } = fields
      const { 'project-exclusions': exclusions, ...attributes } = rest
      const isBound = projects !== undefined || fields.global === true
      const relationships = {
        policies: members('policies', policies),
        namespaces: members('namespaces', namespaces ?? (isBound ? [] : ['default'])),
        projects: members('projects', projects ?? []),
        'project-exclusions': members('projects', exclusions ?? []),
      }
      const body = aBody('policy-sets', { name: `set-${++count}`, ...attributes }, relationships)
      const { data } = await it.created('createPolicySet', { params: ACME, body })
      for (const [key, value] of Object.entries(params))
        await it.created('createPolicySetParameter', {
          params: { policy_set_id: data.id },
          body: aBody('vars', { key, value, category: 'policy-set' }),
        })
      return data.id
    },
    async guard(fields, set = {}) {
      const policy = await guarded.policy(fields)
      return { policy, set: await guarded.set([policy], { kind: fields.kind ?? 'native', ...set }) }
    },
    register: (job, request) => as(register(job, request)),
    async client(rules) {
      const name = `rules-${++count}`
      const body = { Name: name, Rules: rules }
      await server.ok('writeAclPolicy', as({ params: { policy_name: name }, body }))
      return await server.ok('createAclToken', as({ body: { Type: 'client', Policies: [name] } }))
    },
  }
  return guarded
}

function members(type: string, ids: readonly string[]) {
  return { data: ids.map((id) => ({ type, id })) }
}
