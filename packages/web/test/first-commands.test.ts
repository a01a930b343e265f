import assert from 'node:assert/strict'
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { chmod, mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { text } from 'node:stream/consumers'
import { test } from 'node:test'
import { createClient, type Client } from '@reeve/sdk'
import { FIRST_COMMANDS } from '../src/commands.ts'
import { PROGRAM, startProgram } from './program.ts'

/** On a machine that is busy with other tests. */
const WITHIN_MS = 300_000

/** A folder for PATH with a `reeve` that, unlike bin/reeve, does not build first. */
async function programOnPath(directory: string): Promise<string> {
  const folder = join(directory, 'program')
  await mkdir(folder)
  const path = join(folder, 'reeve')
  await writeFile(path, `#!/bin/sh\nexec '${process.execPath}' '${PROGRAM}' "$@"\n`)
  await chmod(path, 0o755)
  return folder
}

const ACME = { params: { organization_name: 'acme' } }

/** What the page that suggests the command lists. */
const LISTS: Readonly<
  Record<keyof typeof FIRST_COMMANDS, (client: Client) => Promise<readonly unknown[]>>
> = {
  jobs: async ({ v1 }) => (await v1.listJobs()).data,
  allocations: async ({ v1 }) => (await v1.listAllocations()).data,
  deployments: async ({ v1 }) => (await v1.listDeployments()).data,
  variables: async ({ v1 }) => (await v1.listVariables()).data,
  namespaces: async ({ v1 }) => (await v1.listNamespaces()).data,
  nodePools: async ({ v1 }) => (await v1.listNodePools()).data,
  aclPolicies: async ({ v1 }) => (await v1.listAclPolicies()).data,
  aclRoles: async ({ v1 }) => (await v1.listAclRoles()).data,
  aclTokens: async ({ v1 }) => (await v1.listAclTokens()).data,
  organizations: async ({ v2 }) => (await v2.listOrganizations()).data.data,
  projects: async ({ v2 }) => (await v2.listProjects(ACME)).data.data,
  workspaces: async ({ v2 }) => (await v2.listWorkspaces(ACME)).data.data,
  teams: async ({ v2 }) => (await v2.listTeams(ACME)).data.data,
  policies: async ({ v2 }) => (await v2.listOrganizationPolicies(ACME)).data.data,
  policySets: async ({ v2 }) => (await v2.listPolicySets(ACME)).data.data,
}

test('the first command of each empty page works on a fresh server', async (t) => {
  const directory = await mkdtemp(join(tmpdir(), 'reeve-web-first-'))
  t.after(() => rm(directory, { recursive: true, force: true }))
  const program = await startProgram(['--acl'])
  t.after(() => program.stop())
  const { data: root } = await program.client.v1.bootstrapAcl({ body: {} })
  const env = {
    PATH: `${await programOnPath(directory)}:${process.env['PATH'] ?? ''}`,
    HOME: directory,
    REEVE_ADDR: program.address,
    REEVE_TOKEN: root.SecretID,
  }
  const client = createClient({ address: program.address, token: root.SecretID })
  // Governance follows in the order of the table: an organization, then what is in it.
  const names = Object.keys(FIRST_COMMANDS) as (keyof typeof FIRST_COMMANDS)[]
  const namesOfLines = Map.groupBy(names, (name) => FIRST_COMMANDS[name])
  assert.ok(names.length > 10)
  for (const [line, shownBy] of namesOfLines)
    await t.test(`${shownBy.join(', ')}: ${line}`, { timeout: WITHIN_MS }, async () => {
      const cwd = join(directory, shownBy.join('-'))
      await mkdir(cwd)
      const counts = () =>
        Promise.all(shownBy.map(async (name) => (await LISTS[name](client)).length))
      const before = await counts()
      const shell = spawn('bash', ['-eu', '-o', 'pipefail', '-c', line], {
        cwd,
        env,
        stdio: ['ignore', 'pipe', 'pipe'],
      })
      const exited = once(shell, 'exit')
      const written = await Promise.all([text(shell.stdout), text(shell.stderr)])
      await exited
      assert.equal(shell.exitCode, 0, written.join(''))
      const after = await counts()
      for (const [at, name] of shownBy.entries())
        assert.ok((after[at] ?? 0) > (before[at] ?? 0), `the page of ${name} lists nothing new`)
    })
  await client.v1.stopJob({ params: { job_id: 'example' } })
})
