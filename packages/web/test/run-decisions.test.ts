import assert from 'node:assert/strict'
import { createHash } from 'node:crypto'
import { after, before, test } from 'node:test'
import { createClient, resource, toOne, type Client } from '@reeve/sdk'
import type { Page } from 'playwright-core'
import { checkAccess, checkNarrow, noBrowser, startBrowser, type Browser } from './browser.ts'
import { startProgram, type Program } from './program.ts'

const ACME = { organization_name: 'acme' }
const skip = noBrowser

let program: Program
let browser: Browser
/** As the administrator. */
let admin: Client

before(async () => {
  if (noBrowser !== false) return
  ;[program, browser] = await Promise.all([startProgram(), startBrowser()])
  admin = createClient({ address: program.address, token: program.governanceToken })
  await admin.v2.createOrganization({
    body: resource('organizations', { name: 'acme', email: 'ops@acme.example' }),
  })
})
after(async () => {
  if (noBrowser !== false) return
  await browser.close()
  await program.stop()
})

async function makeWorkspace(name: string): Promise<string> {
  const { data } = await admin.v2.createWorkspace({
    params: ACME,
    body: resource('workspaces', { name }),
  })
  return data.data.id
}

interface ChangeWish {
  readonly name: string
  readonly module?: string
  readonly actions: readonly string[]
}

function aChange({ name, module, actions }: ChangeWish) {
  const local = `bucket.${name}`
  return {
    address: module === undefined ? local : `${module}.${local}`,
    ...(module !== undefined && { module_address: module }),
    mode: 'managed',
    type: 'bucket',
    name,
    change: {
      actions,
      before: actions[0] === 'create' ? null : { size: 1 },
      after: actions.at(-1) === 'delete' ? null : { size: 2 },
    },
  }
}

const CHANGES = [
  aChange({ name: 'logs', actions: ['create'] }),
  aChange({ name: 'assets', module: 'module.cdn', actions: ['create'] }),
  aChange({ name: 'cache', module: 'module.cdn', actions: ['delete'] }),
  aChange({ name: 'main', module: 'module.data["eu.west"]', actions: ['delete', 'create'] }),
]

/** A run whose uploaded plan destroys two resources. */
async function makeRun(workspace: string): Promise<string> {
  const made = await admin.v2.createRun({
    body: resource(
      'runs',
      { message: 'Tidy up' },
      { workspace: toOne('workspaces', await makeWorkspace(workspace)) },
    ),
  })
  const { id, relationships } = made.data.data
  await admin.v2.uploadPlan({
    params: { plan_id: relationships.plan.data.id },
    body: JSON.stringify({ format_version: '1.2', resource_changes: CHANGES }),
  })
  return id
}

const here = (path: string) => `${program.address}/ui${path}`
const open = (path: string, width = 1280) =>
  browser.open(here(path), { governance: program.governanceToken, width })
const inDialog = (page: Page, name: string) =>
  page.getByRole('dialog').getByRole('button', { name, exact: true })

test('a plan is grouped by module, with what it destroys first', { skip }, async () => {
  const page = await open(`/organizations/acme/runs/${await makeRun('grouped')}`)
  await page.locator('.panel p', { hasText: '2 to destroy' }).waitFor()
  const modules = page.locator('details.module > summary')
  assert.deepEqual(await modules.allTextContents(), [
    'module.cdn 1 destroyed, 1 added',
    'module.data["eu.west"] 1 replaced',
  ])
  assert.equal(await page.locator('.changes > .destructive').count(), 2)
  await checkAccess(page)
  await page.close()
})

test('a plan that destroys is confirmed by the number it destroys', { skip }, async () => {
  const run = await makeRun('destroyer')
  const page = await open(`/organizations/acme/runs/${run}`)
  await page.locator('button:not([aria-disabled=true])', { hasText: 'Apply…' }).click()
  await page.getByRole('dialog').getByText('3 to add, 0 to change, 2 to destroy').waitFor()
  const confirm = inDialog(page, 'Apply')
  assert.equal(await confirm.getAttribute('aria-disabled'), 'true')
  const count = page.getByLabel('Number of destroyed resources')
  await count.fill('3')
  assert.equal(await confirm.getAttribute('aria-disabled'), 'true')
  await checkAccess(page)
  await count.fill('2')
  await page.getByLabel('Comment').fill('Agreed')
  await confirm.click()
  await page.getByText('The run is confirmed.').waitFor()
  const { data } = await admin.v2.readRun({ params: { run_id: run } })
  assert.equal(data.data.attributes.status, 'confirmed')
  await page.close()
})

test('on a telephone the decision stays at the end of the screen', { skip }, async () => {
  const page = await open(`/organizations/acme/runs/${await makeRun('narrow')}`, 390)
  const bar = page.locator('.approval-bar')
  await bar.getByText('2 to destroy').waitFor()
  const box = await bar.boundingBox()
  assert.ok(box !== null)
  assert.deepEqual([box.x, box.width, Math.round(box.y + box.height)], [0, 390, 844])
  await checkNarrow(page)
  await checkAccess(page)
  await bar.getByRole('button', { name: 'Discard…' }).click()
  await inDialog(page, 'Discard').click()
  await page.getByText('The run is discarded.').waitFor()
  await bar.waitFor({ state: 'detached' })
  await page.close()
})

const LINEAGE = 'a86ac4be-bb9f-1bea-0fd2-818e442ae91b'

function aState(serial: number, size: number) {
  const outputs = { size: { value: size, type: 'number' } }
  const provider = 'provider["example.com/builtin/box"]'
  const attributes = { id: 'a', size }
  const instances = [{ schema_version: 0, attributes }]
  const resources = [{ mode: 'managed', type: 'box', name: 'a', provider, instances }]
  return JSON.stringify({ version: 4, serial, lineage: LINEAGE, outputs, resources })
}

test('a workspace compares its states and rolls back to one', { skip }, async () => {
  const id = await makeWorkspace('stated')
  const params = { workspace_id: id }
  await admin.v2.lockWorkspace({ params, body: {} })
  for (const serial of [1, 2]) {
    const bytes = Buffer.from(aState(serial, serial * 10))
    const md5 = createHash('md5').update(bytes).digest('hex')
    const state = bytes.toString('base64')
    await admin.v2.createStateVersion({
      params,
      body: resource('state-versions', { serial, lineage: LINEAGE, md5, state }),
    })
  }
  await admin.v2.unlockWorkspace({ params })
  const page = await open('/organizations/acme/workspaces/stated?tab=states')
  const first = page.getByRole('row', { name: /^1 / })
  await first.getByRole('button', { name: 'Compare' }).click()
  await page.getByRole('dialog').getByText('box.a').waitFor()
  await page.getByRole('dialog').getByText('10 -> 20').first().waitFor()
  await checkAccess(page)
  await inDialog(page, 'Close').click()
  const newest = page.getByRole('row', { name: /^2 \(current\) / })
  const compare = newest.getByRole('button', { name: 'Compare' })
  assert.equal(await compare.getAttribute('aria-disabled'), 'true')
  await first.getByRole('button', { name: 'Roll back…' }).click()
  await inDialog(page, 'Roll back').click()
  await page.getByText('The state of serial 1 is current again.').waitFor()
  await page.getByRole('row', { name: /^3 \(current\) / }).waitFor()
  const { data } = await admin.v2.readCurrentStateVersion({ params })
  assert.equal(data.data.attributes.serial, 3)
  const { data: workspace } = await admin.v2.readWorkspace({ params })
  assert.equal(workspace.data.attributes.locked, false)
  await checkNarrow(page)
  await page.close()
})
