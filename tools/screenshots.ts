/**
 * `node tools/screenshots.ts [folder]`: runs the real program with a few jobs and takes a picture
 * of every page, light and dark, into `docs/screenshots` or the given folder. Needs Chromium and
 * a built web UI.
 */
import { mkdirSync } from 'node:fs'
import { join } from 'node:path'
import { createClient, resource, toMany, toOne, type Client } from '@reeve/sdk'
import { paths } from '../packages/web/src/paths.ts'
import { startBrowser } from '../packages/web/test/browser.ts'
import { runFile, serviceFile } from '../packages/web/test/jobs.ts'
import { startProgram } from '../packages/web/test/program.ts'

const FOLDER = process.argv[2] ?? 'docs/screenshots'
/** Long enough for what a page reads, on a machine that does little else. */
const SETTLE_MS = 2_500

/** A cluster in the middle of things: a canary that waits, a job without room, a failure. */
async function fill(client: Client): Promise<void> {
  await runFile(client, serviceFile('web', { count: 6, canaries: 1 }))
  await runFile(client, serviceFile('api', { count: 4 }))
  await runFile(client, serviceFile('vast').replace('memory = 16', 'memory = 90000000'))
  await runFile(
    client,
    serviceFile('broken', { count: 3 }).replace('while true', 'exit 3; while true'),
  )
  await settle()
  await runFile(client, serviceFile('web', { count: 8, canaries: 1, words: 'hello again' }))
  await settle()
}

async function findPages(
  client: Client,
): Promise<readonly (readonly [name: string, href: string])[]> {
  const web = { namespace: 'default', id: 'web' }
  const allocation = (await client.v1.listJobAllocations({ params: { job_id: 'web' } })).data[0]
  const node = (await client.v1.listNodes()).data[0]
  const deployment = (await client.v1.listJobDeployments({ params: { job_id: 'web' } })).data[0]
  const evaluation = (await client.v1.listJobEvaluations({ params: { job_id: 'vast' } })).data[0]
  return [
    ['jobs', paths.jobs()],
    ['job', paths.job(web)],
    ['job-definition', paths.job(web, 'definition')],
    ['job-versions', paths.job(web, 'versions')],
    ['job-logs', paths.job(web, 'logs')],
    ['job-explain', paths.job({ namespace: 'default', id: 'vast' }, 'explain')],
    ['run', paths.runJob()],
    ['allocations', paths.allocations()],
    ['allocation', paths.allocation(allocation?.ID ?? '')],
    ['nodes', paths.nodes()],
    ['node', paths.node(node?.ID ?? '')],
    ['topology', paths.topology()],
    ['deployments', paths.deployments()],
    ['deployment', paths.deployment(deployment?.ID ?? '')],
    ['evaluations', paths.evaluations()],
    ['evaluation', paths.evaluation(evaluation?.ID ?? '')],
    ['events', paths.events()],
    ['services', paths.services()],
    ['namespaces', paths.namespaces()],
    ['allocation-logs', paths.allocation(allocation?.ID ?? '', 'logs')],
    ['allocation-files', paths.allocation(allocation?.ID ?? '', 'files')],
    ['allocation-terminal', paths.allocation(allocation?.ID ?? '', 'terminal')],
    ['tokens', paths.tokens()],
    ['access-policies', paths.accessPolicies()],
    ['roles', paths.roles()],
    ['verdicts', paths.verdicts()],
    ['organizations', paths.organizations()],
    ['sign-in', paths.signIn()],
  ]
}

const ORGANIZATION = 'example'
const CODE = `small = rule {
  all job.task_groups as group { group.count <= 3 }
}

main = rule { small }
`

/** An organization whose policy denies a job and a plan. Gives its pages. */
async function govern(admin: Client): Promise<readonly (readonly [name: string, href: string])[]> {
  const params = { organization_name: ORGANIZATION }
  const attributes = { name: ORGANIZATION, email: 'people@example.com' }
  await admin.v2.createOrganization({ body: resource('organizations', attributes) })
  const project = await admin.v2.createProject({
    params,
    body: resource('projects', { name: 'Web shop', description: 'What customers see.' }),
  })
  const projectId = project.data.data.id
  const workspace = await admin.v2.createWorkspace({
    params,
    body: resource('workspaces', { name: 'shop' }, { project: toOne('projects', projectId) }),
  })
  const policy = await admin.v2.createPolicy({
    params,
    body: resource('policies', { name: 'small-jobs', 'enforcement-level': 'soft-mandatory' }),
  })
  const policyId = policy.data.data.id
  await admin.v2.uploadPolicy({ params: { policy_id: policyId }, body: CODE })
  const set = await admin.v2.createPolicySet({
    params,
    body: resource(
      'policy-sets',
      { name: 'job-rules' },
      {
        policies: toMany('policies', [policyId]),
        projects: toMany('projects', [projectId]),
        namespaces: toMany('namespaces', ['default']),
      },
    ),
  })
  const run = await admin.v2.createRun({
    body: resource('runs', {}, { workspace: toOne('workspaces', workspace.data.data.id) }),
  })
  const plan = run.data.data.relationships.plan.data.id
  const body = JSON.stringify({ format_version: '1.2', resource_changes: [] })
  await admin.v2.uploadPlan({ params: { plan_id: plan }, body })
  // Denied, which is what it is for.
  await runFile(admin, serviceFile('too-many', { count: 9 })).catch(() => undefined)
  await settle()
  return [
    ['organization', paths.organization(ORGANIZATION)],
    ['policies', paths.organization(ORGANIZATION, 'policies')],
    ['project', paths.project(ORGANIZATION, projectId)],
    ['workspace', paths.workspace(ORGANIZATION, 'shop')],
    ['policy', paths.policy(ORGANIZATION, policyId)],
    ['policy-replay', paths.policy(ORGANIZATION, policyId, { pane: 'replay' })],
    ['policy-set', paths.policySet(ORGANIZATION, set.data.data.id)],
    ['run-of-a-plan', paths.run(ORGANIZATION, run.data.data.id)],
  ]
}

function settle(): Promise<void> {
  return new Promise((resolve) => setTimeout(resolve, SETTLE_MS))
}

const [program, browser] = await Promise.all([startProgram(), startBrowser()])
try {
  mkdirSync(FOLDER, { recursive: true })
  await fill(program.client)
  const { address, governanceToken: token } = program
  const governed = await govern(createClient({ address, token }))
  const session = { governance: token }
  for (const [name, href] of [...(await findPages(program.client)), ...governed]) {
    const page = await browser.open(program.address + href, session)
    for (const colorScheme of ['light', 'dark'] as const) {
      await page.emulateMedia({ colorScheme })
      await settle()
      await page.screenshot({ path: join(FOLDER, `${name}-${colorScheme}.png`) })
    }
    await page.close()
    console.log(name)
  }
} finally {
  await browser.close()
  await program.stop()
}
