import assert from 'node:assert/strict'
import type { Page } from 'playwright-core'
import { after, before, test } from 'node:test'
import { checkAccess, checkNarrow, noBrowser, startBrowser, type Browser } from './browser.ts'
import { runFile, serviceFile } from './jobs.ts'
import { startProgram, type Program } from './program.ts'

let program: Program
let browser: Browser
/** An allocation that says `tick 42` once a second. */
let allocation = ''
let node = ''

before(async () => {
  if (noBrowser !== false) return
  ;[program, browser] = await Promise.all([startProgram(), startBrowser()])
  await runFile(program.client, serviceFile('ticks', { count: 1, words: 'tick 42' }))
  await runFile(program.client, serviceFile('huge', { count: 2 }).replace('16', '9000000'))
  ;[allocation, node] = await runningAllocation('ticks')
})
after(async () => {
  if (noBrowser !== false) return
  await browser.close()
  await program.stop()
})

const skip = noBrowser
const here = (path: string) => `${program.address}/ui${path}`

async function runningAllocation(job: string): Promise<readonly [id: string, node: string]> {
  const params = { job_id: job }
  for await (const { data } of program.client.blocking('listJobAllocations', { params })) {
    const found = data.find(({ ClientStatus }) => ClientStatus === 'running')
    if (found !== undefined) return [found.ID, found.NodeID]
  }
  throw new Error('the list ended')
}

/** Axe on the page as it stands, and nothing that reaches beyond a narrow window. */
async function checkPage(page: Page): Promise<void> {
  await checkAccess(page)
  await checkNarrow(page)
}

test('an allocation shows its place, its tasks and what happened to them', { skip }, async () => {
  const page = await browser.open(here('/allocations'))
  await page.getByRole('link', { name: allocation.slice(0, 8) }).click()
  await page.getByRole('heading', { name: 'ticks.app[0]', level: 1 }).waitFor()
  await page.getByText('Task started by the node').waitFor()
  await page.getByRole('row', { name: /main.*raw_exec/ }).waitFor()
  await page.close()
})

test('logs are followed, searched and chosen by stream', { skip }, async () => {
  const page = await browser.open(here(`/allocations/${allocation}/logs`))
  const log = page.getByRole('log', { name: 'stdout of main' })
  await log.getByText('tick 42').nth(2).waitFor()
  await page.getByRole('searchbox', { name: 'Search in the lines' }).fill('42')
  await log.locator('mark').first().waitFor()
  assert.match(page.url(), /q=42/)
  const [file] = await Promise.all([
    page.waitForEvent('download'),
    page.getByRole('button', { name: 'Download' }).click(),
  ])
  assert.match(file.suggestedFilename(), /^main-.*\.stdout\.log$/)
  await page.getByRole('combobox', { name: 'Stream' }).selectOption('stderr')
  await page.getByRole('log', { name: 'stderr of main' }).waitFor()
  assert.match(page.url(), /type=stderr/)
  await page.close()
})

test('files are browsed and read', { skip }, async () => {
  const page = await browser.open(here(`/allocations/${allocation}/files`))
  const files = page.getByRole('table')
  await files.getByRole('link', { name: /alloc/ }).click()
  await files.getByRole('link', { name: /logs/ }).click()
  await files.getByRole('link', { name: /main\.stdout\.0/ }).waitFor()
  await page.getByRole('link', { name: /main\.stdout\.0/ }).click()
  await page
    .getByRole('region', { name: /Text of main\.stdout/ })
    .getByText('tick 42')
    .waitFor()
  await checkPage(page)
  await page.close()
})

test('usage is drawn while the task runs', { skip }, async () => {
  const page = await browser.open(here(`/allocations/${allocation}/usage`))
  await page
    .getByRole('img', { name: /^Memory used/ })
    .locator('canvas')
    .waitFor()
  await page.getByRole('heading', { name: 'Task main' }).waitFor()
  await page.close()
})

test('the terminal runs a shell in the task, follows its size and lets go', { skip }, async () => {
  const page = await browser.open(here(`/allocations/${allocation}/terminal?task=main`))
  await page.getByRole('button', { name: 'Connect' }).click()
  await page.getByText('Connected to main').waitFor()
  const row = page.locator('.xterm-rows').getByText(/^size=\d+ \d+$/)
  await page.keyboard.type('clear; echo "size=$(stty size)"\n')
  await row.waitFor()
  const wide = (await row.textContent()) ?? ''
  await checkAccess(page)
  await page.setViewportSize({ width: 700, height: 700 })
  // The shell waits for the new size to arrive; the old row is still there meanwhile.
  const isWide = `[ "size=$(stty size)" = "${wide}" ]`
  await page.keyboard.type(`while ${isWide}; do sleep 0.1; done; clear; echo "size=$(stty size)"\n`)
  await row.filter({ hasNotText: wide }).waitFor()
  await page.keyboard.press('Control+Shift+ArrowUp')
  const focused = await page.evaluate('document.activeElement.textContent')
  assert.equal(focused, 'Disconnect')
  await page.locator('.xterm-helper-textarea').focus()
  await page.keyboard.type('exit 7\n')
  await page.getByText('ended with exit code 7').waitFor()
  await page.getByRole('button', { name: 'Connect again' }).click()
  await page.getByText('Connected to main').waitFor()
  await page.close()
})

test('a task is signalled and restarted, and the timeline tells it', { skip }, async () => {
  const page = await browser.open(here(`/allocations/${allocation}`))
  await page.getByRole('button', { name: 'Signal…' }).click()
  const form = page.getByRole('dialog', { name: /Send a signal/ })
  await checkAccess(page)
  await form.getByRole('combobox', { name: 'Signal' }).fill('SIGUSR9')
  await form.getByRole('button', { name: 'Send' }).click()
  await page.getByText(/The server rejected the request/).waitFor()
  await form.getByRole('combobox', { name: 'Signal' }).fill('SIGCONT')
  await form.getByRole('combobox', { name: 'Task' }).selectOption('main')
  await form.getByRole('button', { name: 'Send' }).click()
  await page.getByText('SIGCONT was sent.').waitFor()
  await form.waitFor({ state: 'detached' })
  await page.getByText('Signaling').first().waitFor()
  await page.getByRole('button', { name: 'Restart main' }).click()
  await page.getByRole('button', { name: 'Restart the task' }).click()
  await page.getByText('Restart Signaled').first().waitFor()
  await page.close()
})

test('a node is found, taken out of the schedule and drained', { skip }, async () => {
  const page = await browser.open(here('/nodes'))
  await page.getByRole('table', { name: 'Nodes' }).getByText('ready').waitFor()
  await page.getByRole('searchbox', { name: 'Name or expression' }).fill('no-such-name')
  await page.getByText('No matching nodes').waitFor()
  await page.goto(here(`/nodes/${node}`))
  await page.getByRole('button', { name: 'Mark ineligible' }).click()
  await page.getByText('ineligible', { exact: true }).first().waitFor()
  await page.getByRole('button', { name: 'Mark eligible' }).click()
  await page.getByText('ready', { exact: true }).first().waitFor()
  await page.getByRole('button', { name: 'Drain…' }).click()
  await checkAccess(page)
  await page.getByLabel('Deadline').selectOption('10 minutes')
  await page.getByRole('button', { name: 'Cancel' }).click()
  await page
    .getByRole('img', { name: /^CPU used/ })
    .locator('canvas')
    .waitFor()
  await page.goto(here(`/nodes/${node}/attributes`))
  await page.getByText('${attr.kernel.name}').waitFor()
  await page.goto(here(`/nodes/${node}/allocations`))
  await page.getByRole('link', { name: allocation.slice(0, 8) }).waitFor()
  await page.close()
})

test('the topology shows nodes with what lies on them, also by keyboard', { skip }, async () => {
  const page = await browser.open(here('/topology'))
  await page.getByText(/^1 node, \d+ allocations/).waitFor()
  const picture = page.getByRole('listbox')
  await picture.focus()
  await page.keyboard.press('ArrowRight')
  await page.getByRole('heading', { name: /^Node / }).waitFor()
  await checkPage(page)
  await page.goto(here('/topology?by=cpu'))
  await page.getByText(/^1 node, .*MHz allocated/).waitFor()
  await picture.focus()
  await page.keyboard.press('Home')
  await page.getByRole('heading', { name: /^Node / }).waitFor()
  await page.keyboard.press('Enter')
  await page.waitForURL(`**/ui/nodes/${node}`)
  await page.close()
})

test('5,000 nodes are drawn on a canvas that is no larger than the window', { skip }, async () => {
  const { data } = await program.client.v1.listTopology()
  const many = Array.from({ length: 5_000 }, (_, index) => ({
    ...data[0],
    ID: `${String(index).padStart(8, '0')}-0000-4000-8000-000000000000`,
    Name: `node-${index}`,
    Datacenter: `dc${index % 3}`,
  }))
  const page = await browser.open(here('/jobs'))
  await page.route(/\/v1\/topology\?/, (route) => route.fulfill({ json: many }))
  await page.goto(here('/topology'))
  await page.getByText(/^5000 nodes/).waitFor()
  const picture = page.getByRole('listbox')
  await picture.evaluate('(element) => element.scrollTo(0, 1e6)')
  const box = await page.locator('.topology canvas').boundingBox()
  assert.ok(box !== null && box.height <= 800, `${box?.height} px`)
  await picture.focus()
  await page.keyboard.press('End')
  await page.getByRole('heading', { name: /^Node node-/ }).waitFor()
  await page.close()
})

test('a roll-out has a page that follows it', { skip }, async () => {
  const page = await browser.open(here('/deployments'))
  await page.getByRole('row', { name: /ticks/ }).getByRole('link').first().click()
  await page.getByRole('heading', { name: /^Deployment / }).waitFor()
  await page.getByText('successful').first().waitFor()
  await page.getByRole('link', { name: allocation.slice(0, 8) }).waitFor()
  await page.close()
})

test('an evaluation tells what it could not place, and why', { skip }, async () => {
  const page = await browser.open(here('/evaluations?status=blocked'))
  await page.getByRole('row', { name: /huge/ }).getByRole('link').first().waitFor()
  await page.getByRole('row', { name: /huge/ }).getByRole('link').first().click()
  await page
    .getByText(/of memory free/)
    .first()
    .waitFor()
  await checkPage(page)
  await page.close()
})

test('events come as they happen, by topic, and wait while paused', { skip }, async () => {
  const page = await browser.open(here('/events?topic=Job'))
  await page.getByText('Live', { exact: true }).waitFor()
  await runFile(program.client, serviceFile('later', { count: 0 }))
  const row = page.getByRole('row', { name: /JobRegistered later/ })
  await row.waitFor()
  assert.equal(await page.locator('tbody a[href*="/evaluations/"]').count(), 0)
  await page.getByRole('button', { name: 'Pause' }).click()
  await runFile(program.client, serviceFile('paused', { count: 0 }))
  await page.getByRole('button', { name: /^Resume \(\d+ pending\)/ }).click()
  await page.getByRole('row', { name: /JobRegistered paused/ }).waitFor()
  await row.getByRole('button', { name: 'JobRegistered' }).click()
  await page.getByRole('dialog').getByText('"Topic"').waitFor()
  await page.getByRole('button', { name: 'Close', exact: true }).click()
  await checkPage(page)
  await page.close()
})

test('a service lists where it is reached, and follows what runs', { skip }, async () => {
  const file = serviceFile('served', { count: 1 })
    .replace('group "app" {', 'group "app" {\n    network {\n      port "http" {}\n    }')
    .replace(
      'task "main" {',
      `service {
      name     = "served-http"
      port     = "http"
      provider = "service"
      tags     = ["blue"]
    }
    task "main" {`,
    )
  await runFile(program.client, file)
  const page = await browser.open(here('/services'))
  await page.getByRole('link', { name: 'served-http' }).click()
  await page.getByRole('heading', { name: 'served-http', level: 1 }).waitFor()
  const row = page.getByRole('row', { name: /:\d+ .*served.*blue/ })
  await row.waitFor()
  await row.getByRole('link', { name: 'served' }).waitFor()
  await program.client.v1.stopJob({ params: { job_id: 'served' } })
  await page.getByText('No instances').waitFor()
  await page.close()
})

test('a variable is made, changed by two, and deleted', { skip }, async () => {
  const page = await browser.open(here('/variables?namespace=default'))
  await page.getByText('No variables').waitFor()
  await checkPage(page)
  await page.setViewportSize({ width: 1280, height: 800 })
  await page.getByRole('button', { name: 'New variable' }).click()
  await page.getByLabel('Path').fill('apps/db')
  await page.getByLabel('Key of item 1').fill('user')
  await page.getByLabel('Value of item 1').fill('web')
  await page.getByRole('button', { name: 'Create the variable' }).click()
  await page.getByRole('heading', { name: 'apps/db', level: 1 }).waitFor()
  assert.equal(await page.getByText('web', { exact: true }).count(), 0)
  await page.getByRole('button', { name: 'Show values' }).click()
  await page.getByText('web', { exact: true }).waitFor()
  await page.getByRole('button', { name: 'Edit', exact: true }).click()
  assert.match(page.url(), /edit=yes/)
  await page.getByLabel('Value of item 1').fill('mine')
  await program.client.v1.writeVariable({
    params: { path: 'apps/db' },
    body: { Items: { user: 'theirs' } },
  })
  await page.getByRole('button', { name: 'Save', exact: true }).click()
  await page.getByRole('alert').getByText('The variable was updated while').waitFor()
  await checkAccess(page)
  await page.getByRole('button', { name: 'Overwrite' }).click()
  await page.getByRole('button', { name: 'Show values' }).click()
  await page.getByText('mine', { exact: true }).waitFor()
  await page.getByRole('button', { name: 'Delete…' }).click()
  await page.getByRole('button', { name: 'Delete the variable' }).click()
  await page.getByText('No variables').waitFor()
  await page.close()
})

test('a node pool is made, edited, shows its nodes, and is deleted', { skip }, async () => {
  const page = await browser.open(here('/node-pools'))
  await page.getByRole('button', { name: 'New node pool…' }).click()
  await page.getByLabel('Name', { exact: true }).fill('gpu')
  await page.getByLabel('Scheduler algorithm').selectOption('spread')
  await checkAccess(page)
  await page.getByRole('button', { name: 'Save' }).click()
  await page.getByRole('heading', { name: 'gpu', level: 1 }).waitFor()
  await page.getByText('No nodes').waitFor()
  await page.getByRole('button', { name: 'Edit…' }).click()
  await page.getByLabel('Description').fill('With graphics cards')
  await page.getByRole('button', { name: 'Save' }).click()
  await page.getByText('With graphics cards').waitFor()
  await page.getByRole('button', { name: 'Delete…' }).click()
  await page.getByRole('button', { name: 'Delete the pool' }).click()
  await page.getByRole('link', { name: 'default', exact: true }).click()
  await page.getByRole('table', { name: 'Nodes' }).getByText('ready').waitFor()
  const fixed = page.getByRole('button', { name: 'Delete…' })
  assert.equal(await fixed.getAttribute('aria-disabled'), 'true')
  await page.getByRole('link', { name: 'Jobs', exact: true }).last().click()
  await page.getByRole('row', { name: /ticks/ }).waitFor()
  await page.close()
})

test('a namespace is made, edited and deleted', { skip }, async () => {
  const page = await browser.open(here('/namespaces'))
  await page.getByRole('button', { name: 'New namespace…' }).click()
  await page.getByLabel('Name', { exact: true }).fill('staging')
  await checkAccess(page)
  await page.getByRole('button', { name: 'Save' }).click()
  await page.getByRole('row', { name: /staging/ }).waitFor()
  await page.getByRole('button', { name: 'Edit… staging' }).click()
  assert.match(page.url(), /edit=staging/)
  await page.getByLabel('Description').fill('Before prod')
  await page.getByLabel('Denied drivers').fill('docker')
  await page.getByRole('button', { name: 'Save' }).click()
  await page.getByText('Before prod').waitFor()
  const stored = await program.client.v1.readNamespace({ params: { namespace_name: 'staging' } })
  assert.deepEqual(stored.data.Capabilities?.DisabledTaskDrivers, ['docker'])
  const fixed = page.getByRole('button', { name: 'Delete… default' })
  assert.equal(await fixed.getAttribute('aria-disabled'), 'true')
  await page.getByRole('button', { name: 'Delete… staging' }).click()
  await page.getByRole('button', { name: 'Delete it' }).click()
  await page.getByText('staging is deleted').waitFor()
  await page.close()
})

test('without access control its pages say so', { skip }, async () => {
  const page = await browser.open(here('/access/tokens'))
  await page.getByText('ACLs are disabled').waitFor()
  await checkPage(page)
  await page.close()
})

test('an allocation that is stopped is replaced and says by which', { skip }, async () => {
  await runFile(program.client, serviceFile('stopped', { count: 1 }))
  const [id] = await runningAllocation('stopped')
  const page = await browser.open(here(`/allocations/${id}`))
  await page.getByRole('button', { name: 'Stop…' }).click()
  await page.getByRole('button', { name: 'Stop the allocation' }).click()
  await page.getByText('complete', { exact: true }).first().waitFor()
  await page.getByText(/\. Replaced by/).waitFor()
  const stop = page.getByRole('button', { name: 'Stop…' })
  assert.equal(await stop.getAttribute('aria-disabled'), 'true')
  await page.getByRole('link', { name: 'Terminal', exact: true }).click()
  await page.getByText('No terminal').waitFor()
  await page.close()
})
