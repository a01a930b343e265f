import assert from 'node:assert/strict'
import { after, before, test } from 'node:test'
import { createClient, resource, toMany, toOne, type Client } from '@reeve/sdk'
import { checkAccess, checkNarrow, noBrowser, startBrowser, type Browser } from './browser.ts'
import { startProgram, type Program } from './program.ts'

const ACME = { organization_name: 'acme' }
const DENYING = 'package reeve\n\nimport rego.v1\n\ndeny contains "no" if true\n'
const BUCKET = {
  address: 'bucket.a',
  mode: 'managed',
  type: 'bucket',
  name: 'a',
  change: { actions: ['create'], before: null, after: {} },
}
/** A plan without changes waits for nobody. */
const PLAN = JSON.stringify({ format_version: '1.2', resource_changes: [BUCKET] })

let program: Program
let browser: Browser
/** As the administrator. */
let admin: Client
let project = ''

before(async () => {
  if (noBrowser !== false) return
  ;[program, browser] = await Promise.all([startProgram(), startBrowser()])
  admin = createClient({ address: program.address, token: program.governanceToken })
  await admin.v2.createOrganization({
    body: resource('organizations', { name: 'acme', email: 'ops@acme.example' }),
  })
  const { data } = await admin.v2.createProject({
    params: ACME,
    body: resource('projects', { name: 'Web shop' }),
  })
  project = data.data.id
})
after(async () => {
  if (noBrowser !== false) return
  await browser.close()
  await program.stop()
})

const skip = noBrowser
const open = (path: string) =>
  browser.open(`${program.address}/ui/organizations/acme${path}`, {
    governance: program.governanceToken,
  })

const SETTINGS = {
  native: { kind: 'native', 'enforcement-level': 'soft-mandatory' },
  opa: { kind: 'opa', 'enforcement-level': 'mandatory', query: 'data.reeve.deny' },
} as const

async function makePolicy(name: string, kind: 'native' | 'opa', code: string): Promise<string> {
  const { data } = await admin.v2.createPolicy({
    params: ACME,
    body: resource('policies', { name, ...SETTINGS[kind] }),
  })
  await upload(data.data.id, code)
  return data.data.id
}

function upload(policy: string, code: string) {
  return admin.v2.uploadPolicy({ params: { policy_id: policy }, body: code })
}

test('code that somebody else uploads is not written over unseen', { skip }, async () => {
  const policy = await makePolicy('shared', 'native', 'main = rule { true }\n')
  const page = await open(`/policies/${policy}`)
  const editor = page.getByRole('textbox', { name: 'Code of the policy' })
  const save = page.getByRole('button', { name: 'Save', exact: true })
  const note = page.getByText('Another user uploaded a new version while you were editing.')
  await editor.getByText('true').waitFor()
  await editor.fill('main = rule { 1 < 2 }\n')
  await save.click()
  await page.getByText('The code is saved.').waitFor()
  await editor.fill('main = rule { 2 < 3 }\n')
  await upload(policy, '# theirs\nmain = rule { false }\n')
  await note.waitFor()
  await page.reload()
  await note.waitFor()
  await checkAccess(page)
  await page.getByRole('button', { name: 'Overwrite' }).click()
  await note.waitFor({ state: 'detached' })
  await page.getByRole('heading', { name: 'Code', exact: true }).waitFor()
  await editor.fill('main = rule { 3 < 4 }\n')
  await upload(policy, '# theirs again\nmain = rule { false }\n')
  await page.getByRole('button', { name: 'Load current version' }).click()
  await editor.getByText('# theirs again').waitFor()
  await note.waitFor({ state: 'detached' })
  await page.close()
})

test('a long tag does not make the page wide', { skip }, async () => {
  await admin.v2.addProjectTagBindings({
    params: { project_id: project },
    body: {
      data: [{ type: 'tag-bindings', attributes: { key: 'about', value: 'v'.repeat(200) } }],
    },
  })
  await admin.v2.createWorkspace({
    params: ACME,
    body: resource('workspaces', { name: 'front' }, { project: toOne('projects', project) }),
  })
  for (const path of [`/projects/${project}`, '/workspaces/front?tab=tags']) {
    const page = await open(path)
    await page.getByText(/about: vvv/).waitFor()
    await checkNarrow(page)
    await page.close()
  }
})

test('a skipped policy is not shown as passed', { skip }, async () => {
  const small = 'main = rule { all job.task_groups as g { g.count <= 3 } }\n'
  const aboutJobs = await makePolicy('small-jobs', 'native', small)
  await makeSet('job-rules', 'native', aboutJobs)
  const page = await open(`/runs/${await makeRun('unasked')}`)
  const outcome = page.getByRole('listitem').filter({ hasText: 'small-jobs' })
  await outcome.getByText('Skipped: it is about a job.').waitFor()
  await outcome.getByText('skipped', { exact: true }).waitFor()
  assert.equal(await outcome.getByText('passed').count(), 0)
  await checkAccess(page)
  await page.close()
})

test('a replay counts skipped subjects separately', { skip }, async () => {
  const aboutJobs = await makePolicy('few-jobs', 'native', 'main = rule { job.id is "a" }\n')
  await makeRun('replayed')
  const page = await open(`/policies/${aboutJobs}?pane=replay`)
  await page.getByRole('button', { name: 'Replay', exact: true }).click()
  const said = page.getByRole('status').filter({ hasText: 'would be denied' })
  await said.getByText(/^0 evaluated, 0 failed, 0 would be denied\.$/).waitFor()
  await said.getByText(/^\d+ skipped: it is about a job\.$/).waitFor()
  await page.close()
})

test('policies whose turn has not come are not told as none', { skip }, async () => {
  const denying = await makePolicy('never', 'opa', DENYING)
  const native = await makePolicy('always', 'native', 'main = rule { true }\n')
  await makeSet('opa-rules', 'opa', denying)
  await makeSet('native-rules', 'native', native)
  const run = await makeRun('judged')
  const page = await open(`/runs/${run}`)
  await page.getByText('Pending.').waitFor()
  await page.close()
})

async function makeSet(name: string, kind: 'native' | 'opa', policy: string): Promise<void> {
  const body = resource(
    'policy-sets',
    { name, kind, overridable: kind === 'opa' },
    { policies: toMany('policies', [policy]), projects: toMany('projects', [project]) },
  )
  await admin.v2.createPolicySet({ params: ACME, body })
}

async function makeRun(name: string): Promise<string> {
  const workspace = await admin.v2.createWorkspace({
    params: ACME,
    body: resource('workspaces', { name }, { project: toOne('projects', project) }),
  })
  const { data } = await admin.v2.createRun({
    body: resource(
      'runs',
      { message: 'One bucket' },
      { workspace: toOne('workspaces', workspace.data.data.id) },
    ),
  })
  const { id, relationships } = data.data
  await admin.v2.uploadPlan({ params: { plan_id: relationships.plan.data.id }, body: PLAN })
  return id
}
