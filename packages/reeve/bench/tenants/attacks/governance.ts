/** Attacks on /api/v2 by a user who owns an organization. */
import { gzipSync } from 'node:zlib'
import { aTar } from '../../../test/build/archive.ts'
import { hammer, openSocket, AnswerReader, pause, requestBytes } from '../attack-connection.ts'
import { create, type Created } from '../attacker-calls.ts'
import type { Assault, Attack } from '../attack.ts'

const MANIFEST_POLICIES = 9_000
const ARCHIVE_ENTRIES = 20_000
/** Each upload first needs a version or a run. */
const UPLOADERS = 16
const PLAN_UPLOADERS = 4
const PLAN_BYTES = 44_000_000
const PLAN_VALUE_CHARS = 20
/** A JSON body may have 100,000 objects and lists: these reach that limit. */
const DRY_RUN_VALUE_CHARS = 120
const RETRY_MS = 50

/** Nine million pairs without a match. */
const EXPENSIVE_REGO = `package storage
deny contains "never" if {
  some i in numbers.range(1, 3000)
  some j in numbers.range(1, 3000)
  i * j == -1
}
`

function withToken({ target }: Assault): Record<string, string> {
  return { authorization: `Bearer ${target.userToken}` }
}

const JSON_API = { 'content-type': 'application/vnd.api+json' }
const BYTES = { 'content-type': 'application/octet-stream' }

export const governanceAttacks: readonly Attack[] = [
  {
    name: 'policy-trial',
    summary: 'trials of a policy that never matches',
    async prepare(assault) {
      const id = await aPolicy(assault)
      const attributes = { code: EXPENSIVE_REGO, input: { job: { ID: 'a', TaskGroups: [] } } }
      const request = requestBytes({
        method: 'POST',
        path: `/api/v2/policies/${id}/actions/evaluate`,
        headers: { ...withToken(assault), ...JSON_API },
        body: JSON.stringify({ data: { type: 'policy-trials', attributes } }),
      })
      return () => hammer(assault, () => request)
    },
  },
  uploadAttack(
    { name: 'manifest', summary: 'policy-set archives with 9,000 policies in the manifest' },
    () => {
      const policy = (at: number): string => `policy "policy-${at}" {\n  query = "data.a.b"\n}\n`
      const text = Array.from({ length: MANIFEST_POLICIES }, (_, at) => policy(at)).join('')
      return gzipSync(aTar([{ path: 'policies.hcl', text }]))
    },
  ),
  uploadAttack({ name: 'archive', summary: 'policy-set archives of 20,000 empty entries' }, () =>
    gzipSync(aTar(Array.from({ length: ARCHIVE_ENTRIES }, (_, at) => ({ path: `entry-${at}` })))),
  ),
  {
    name: 'plan-uploads',
    summary: 'uploads of plans of 44 MB, 4 at a time',
    async prepare(assault) {
      const { target } = assault
      const path = `/organizations/${target.organization}/workspaces`
      const name = nameOf('workspace')
      const workspace = await create(target, path, { type: 'workspaces', attributes: { name } })
      const plan = Buffer.from(largePlan(PLAN_VALUE_CHARS))
      const newUpload = async (): Promise<Buffer> => {
        const related = { workspace: { data: { type: 'workspaces', id: workspace.id } } }
        const run = await create(target, '/runs', { type: 'runs', relationships: related })
        const planId = run.relationships?.['plan']?.data?.id ?? ''
        const headers = { ...withToken(assault), 'content-type': 'application/json' }
        const upload = `/api/v2/plans/${planId}/upload`
        return requestBytes({ method: 'PUT', path: upload, headers, body: plan })
      }
      return () => uploadOften(assault, newUpload, PLAN_UPLOADERS)
    },
  },
  {
    name: 'dry-runs',
    summary: 'policies evaluated on plans of 44 MB, 4 at a time',
    async prepare(assault) {
      const { target } = assault
      const path = `/organizations/${target.organization}/workspaces`
      const name = nameOf('workspace')
      const workspace = await create(target, path, { type: 'workspaces', attributes: { name } })
      const plan = largePlan(DRY_RUN_VALUE_CHARS)
      const request = requestBytes({
        method: 'POST',
        path: `/api/v2/workspaces/${workspace.id}/actions/evaluate-policies`,
        headers: { ...withToken(assault), ...JSON_API },
        body: Buffer.from(`{"data":{"type":"policy-dry-runs","attributes":{"plan":${plan}}}}`),
      })
      return () => uploadOften(assault, () => Promise.resolve(request), PLAN_UPLOADERS)
    },
  },
]

function nameOf(what: string): string {
  return `${what}-${Date.now()}`
}

async function aPolicy({ target }: Assault): Promise<string> {
  const path = `/organizations/${target.organization}/policies`
  const attributes = {
    name: nameOf('policy'),
    kind: 'opa',
    query: 'data.storage.deny',
    'enforcement-level': 'advisory',
  }
  return (await create(target, path, { type: 'policies', attributes })).id
}

function uploadAttack(attack: Omit<Attack, 'prepare'>, archive: () => Buffer): Attack {
  return {
    ...attack,
    async prepare(assault) {
      const { target } = assault
      const path = `/organizations/${target.organization}/policy-sets`
      const attributes = { name: nameOf('set'), kind: 'opa' }
      const set = await create(target, path, { type: 'policy-sets', attributes })
      const body = archive()
      const headers = { ...withToken(assault), ...BYTES }
      const newUpload = async (): Promise<Buffer> => {
        const version: Created = await create(target, `/policy-sets/${set.id}/versions`, undefined)
        const upload = `/api/v2/policy-set-versions/${version.id}/upload`
        return requestBytes({ method: 'PUT', path: upload, headers, body })
      }
      return () => uploadOften(assault, newUpload, UPLOADERS)
    },
  }
}

/** Each uploader requests an upload target and fills it. */
async function uploadOften(
  assault: Assault,
  newUpload: () => Promise<Buffer>,
  uploaders: number,
): Promise<void> {
  const work = async (): Promise<void> => {
    while (!assault.signal.aborted) {
      const request = await newUpload().catch((thrown: Error) => {
        const status = /answered (\d+)/.exec(thrown.message)?.[1]
        assault.count(status === undefined ? 'no answer' : `${status} before the upload`)
      })
      const socket = request === undefined ? undefined : await openSocket(assault)
      if (socket !== undefined && request !== undefined) {
        const answers = new AnswerReader(socket)
        socket.write(request)
        const status = await answers.next()
        if (status !== undefined) assault.count(String(status))
        socket.destroy()
      } else await pause(assault, RETRY_MS)
    }
  }
  await Promise.all(Array.from({ length: uploaders }, work))
}

/** A valid plan of maximum size with values of this length. */
function largePlan(valueChars: number): string {
  const values = Object.fromEntries(
    Array.from({ length: 20 }, (_, at) => [`key-${at}`, 'x'.repeat(valueChars)]),
  )
  const change = (at: number): string =>
    JSON.stringify({
      address: `storage_bucket.bucket-${at}`,
      mode: 'managed',
      type: 'storage_bucket',
      name: `bucket-${at}`,
      provider_name: 'example.com/storage/storage',
      change: { actions: ['create'], before: null, after: values, after_unknown: {} },
    })
  const count = Math.floor(PLAN_BYTES / (change(0).length + 8))
  const changes = Array.from({ length: count }, (_, at) => change(at)).join(',')
  return `{"format_version":"1.2","resource_changes":[${changes}]}`
}
