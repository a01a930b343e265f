import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { Page } from 'playwright-core'
import { checkAccess, checkNarrow, noBrowser } from './browser.ts'
import { runFile, serviceFile } from './jobs.ts'
import { visitProgram } from './visit.ts'

const visit = visitProgram()
const skip = noBrowser
const group = (page: Page) => page.getByRole('region', { name: 'Group app' })

test('a job appears in the list by itself, and leads to its page', { skip }, async () => {
  const page = await visit.browser.open(visit.here('/jobs'))
  await page.getByText('No jobs yet').waitFor()
  await runFile(visit.program.client, serviceFile('appears'))
  const row = page.getByRole('row', { name: /appears/ })
  await row.getByText('2 running').waitFor()
  await page.keyboard.press('j')
  await page.keyboard.press('Enter')
  await page.getByRole('heading', { name: 'appears', level: 1 }).waitFor()
  assert.equal(page.url(), visit.here('/jobs/appears?namespace=default'))
  await page.close()
})

test('the list is narrowed by what is typed, and the address says it', { skip }, async () => {
  await runFile(visit.program.client, serviceFile('narrow-one', { count: 1 }))
  await runFile(visit.program.client, serviceFile('narrow-two', { count: 1 }))
  const page = await visit.browser.open(visit.here('/jobs'))
  await page.getByRole('row', { name: /narrow-two/ }).waitFor()
  await page.keyboard.press('/')
  await page.keyboard.type('narrow-o')
  await page.getByRole('row', { name: /narrow-two/ }).waitFor({ state: 'detached' })
  await page.getByRole('row', { name: /narrow-one/ }).waitFor()
  assert.equal(new URL(page.url()).searchParams.get('q'), 'narrow-o')
  await page.close()
})

test('a rolling deployment is seen as it happens, canary and promotion', { skip }, async () => {
  const file = (words: string) => serviceFile('rolls', { count: 3, canaries: 1, words })
  await runFile(visit.program.client, file('first'))
  const page = await visit.browser.open(visit.here('/jobs/rolls?namespace=default'))
  await group(page).getByRole('link').nth(2).waitFor()
  await page.getByText('3 running').waitFor()
  await runFile(visit.program.client, file('second'))
  await page.getByText('1 of 1 canaries healthy').waitFor()
  await group(page)
    .getByRole('link', { name: /canary/ })
    .waitFor()
  await checkAccess(page)
  await page.getByRole('button', { name: 'Promote' }).click()
  await page.getByRole('heading', { name: 'Deployment in progress' }).waitFor({ state: 'detached' })
  await page.getByRole('link', { name: 'Deployments', exact: true }).last().click()
  await page.getByText('Deployment completed successfully').first().waitFor()
  await page.close()
})

test('a group is scaled from the page', { skip }, async () => {
  await runFile(visit.program.client, serviceFile('scales', { count: 1 }))
  const page = await visit.browser.open(visit.here('/jobs/scales?namespace=default'))
  await page.getByText('1 running').waitFor()
  await page.getByLabel('Count of the group app').fill('3')
  await group(page).getByRole('button', { name: 'Scale' }).click()
  await page.getByText('app is scaled to 3.').waitFor()
  await page.getByText('3 running').waitFor()
  await page.close()
})

test('an empty count is no number to scale to', { skip }, async () => {
  await runFile(visit.program.client, serviceFile('keeps', { count: 1 }))
  const page = await visit.browser.open(visit.here('/jobs/keeps?namespace=default'))
  await page.getByText('1 running').waitFor()
  const count = page.getByLabel('Count of the group app')
  await count.fill('')
  const scale = group(page).getByRole('button', { name: 'Scale' })
  await scale.hover()
  await group(page).getByText('Enter another count first.').waitFor()
  assert.equal(await scale.getAttribute('aria-disabled'), 'true')
  await count.press('Enter')
  await count.fill('0')
  await scale.click()
  await page.getByText('app is scaled to 0.').waitFor()
  const { data } = await visit.program.client.v1.readJob({ params: { job_id: 'keeps' } })
  assert.equal(data.Version, 1, 'scaled once')
  await page.close()
})

test('long names do not make the page wide', { skip }, async () => {
  const name = 'n'.repeat(120)
  const file = serviceFile(`wide-${name}`, { count: 1 })
    .replace('group "app"', `group "${name}"`)
    .replace('task "main"', `task "${name}"`)
    .replace('update {', `meta {\n      ${name} = "${name}"\n    }\n    update {`)
  await runFile(visit.program.client, file)
  const page = await visit.browser.open(visit.here(`/jobs/wide-${name}?namespace=default`))
  await page.getByText('1 running').waitFor()
  await checkNarrow(page)
  await page.close()
})

test('versions are compared side by side, and one comes back', { skip }, async () => {
  await runFile(visit.program.client, serviceFile('reverts', { words: 'old' }))
  await runFile(visit.program.client, serviceFile('reverts', { words: 'new' }))
  const page = await visit.browser.open(visit.here('/jobs/reverts/versions?namespace=default'))
  const difference = page.getByRole('table', { name: /Differences/ })
  await difference.getByText(/echo old/).waitFor()
  await difference.getByText(/echo new/).waitFor()
  await checkAccess(page)
  await page.getByRole('link', { name: 'Version 0', exact: true }).click()
  await page.getByRole('button', { name: 'Revert to version 0…' }).click()
  await checkAccess(page)
  await page.getByRole('dialog').getByRole('button', { name: 'Revert' }).click()
  await page.getByRole('link', { name: 'Version 2', exact: true }).waitFor()
  await page.close()
})

test('a definition is edited, planned and run', { skip }, async () => {
  await runFile(visit.program.client, serviceFile('edits', { count: 1 }))
  const page = await visit.browser.open(visit.here('/jobs/edits/definition?namespace=default'))
  await page.getByRole('button', { name: 'Edit' }).click()
  const editor = page.getByRole('textbox', { name: 'Definition of the job' })
  await editor.fill(serviceFile('edits', { count: 2 }).replace('count = 2', 'count ='))
  await page.getByText(/Line 3, column/).waitFor()
  await checkAccess(page)
  await editor.fill(serviceFile('edits', { count: 2 }))
  await page.getByText(/Line 3, column/).waitFor({ state: 'detached' })
  await page.getByRole('button', { name: 'Plan' }).click()
  await page.getByText(/1 to place/).waitFor()
  await checkAccess(page)
  await page.getByRole('button', { name: 'Run', exact: true }).click()
  await page.getByText('2 running').waitFor()
  await page.close()
})

test('what is typed stays when somebody else changes the job', { skip }, async () => {
  await runFile(visit.program.client, serviceFile('shared', { count: 1 }))
  const page = await visit.browser.open(
    visit.here('/jobs/shared/definition?namespace=default&edit=yes'),
  )
  const editor = page.getByRole('textbox', { name: 'Definition of the job' })
  await editor.click()
  await page.keyboard.press('Control+End')
  await page.keyboard.type('# mine')
  await page.getByRole('button', { name: 'Plan' }).click()
  await page.getByRole('heading', { name: 'Plan', exact: true }).waitFor()
  await editor.click()
  await page.keyboard.press('Control+End')
  await runFile(visit.program.client, serviceFile('shared', { count: 1, words: 'theirs' }))
  await page.getByText('version 0 is now version 1').waitFor()
  await page.getByRole('heading', { name: 'Plan', exact: true }).waitFor({ state: 'detached' })
  await checkAccess(page)
  await page.keyboard.type(' gj')
  await editor.getByText('# mine gj').waitFor()
  await page.keyboard.press('Control+z')
  await editor.getByText('# mine gj').waitFor({ state: 'detached' })
  await page.getByRole('button', { name: 'Load current version' }).click()
  await editor.getByText('echo theirs').waitFor()
  await page.getByText('version 0 is now version 1').waitFor({ state: 'detached' })
  await page.getByRole('button', { name: 'Cancel' }).waitFor()
  await page.close()
})

test('what was run is no draft any more', { skip }, async () => {
  const page = await visit.browser.open(visit.here('/run'))
  const editor = page.getByRole('textbox', { name: 'Definition of the job' })
  await editor.fill(serviceFile('drafted', { count: 1 }))
  await page.getByRole('button', { name: 'Reset to the example' }).waitFor()
  await page.getByRole('button', { name: 'Plan' }).click()
  await page.getByRole('heading', { name: 'Plan', exact: true }).waitFor()
  await page.getByRole('button', { name: 'Run', exact: true }).click()
  await page.getByRole('heading', { name: 'drafted', level: 1 }).waitFor()
  await page.getByRole('link', { name: 'Submit job' }).first().click()
  await editor.getByText('job "hello"').waitFor()
  await page.close()
})

test('a job that came without a text is edited as JSON', { skip }, async () => {
  const task = { Name: 'main', Driver: 'raw_exec', Config: { command: '/bin/true' } }
  const Job = { ID: 'textless', Type: 'batch', TaskGroups: [{ Name: 'app', Tasks: [task] }] }
  await visit.program.client.v1.registerJob({ body: { Job } })
  const page = await visit.browser.open(
    visit.here('/jobs/textless/definition?namespace=default&edit=yes'),
  )
  const editor = page.getByRole('textbox', { name: 'Definition of the job' })
  await editor.getByText('"textless"').first().waitFor()
  await page.getByRole('button', { name: 'Plan' }).click()
  await page.getByRole('heading', { name: 'Plan', exact: true }).waitFor()
  await page.getByRole('button', { name: 'Run', exact: true }).click()
  await page.getByText('The job is registered.').waitFor()
  await page.close()
})

test('a new job is written, planned and run with keys alone', { skip }, async () => {
  const page = await visit.browser.open(visit.here('/jobs'))
  await page.getByRole('heading', { name: 'Jobs', level: 1 }).waitFor()
  await page.keyboard.press('g')
  await page.keyboard.press('r')
  await page.getByRole('textbox', { name: 'Definition of the job' }).waitFor()
  await page.getByRole('button', { name: 'Plan' }).focus()
  await page.keyboard.press('Enter')
  await page.getByText('All allocations can be placed.').waitFor()
  await page.keyboard.press('Tab')
  await page.keyboard.press('Enter')
  await page.getByRole('heading', { name: 'hello', level: 1 }).waitFor()
  await page.getByText('2 running').waitFor()
  await page.close()
})

test('the logs of all allocations are followed and searched', { skip }, async () => {
  await runFile(visit.program.client, serviceFile('talks', { words: 'said-this' }))
  const page = await visit.browser.open(visit.here('/jobs/talks/logs?namespace=default'))
  const log = page.getByRole('log')
  await log.getByText('said-this').nth(3).waitFor()
  await page.getByLabel('Search in the lines').fill('not-in-any-line')
  await log.getByText('said-this').first().waitFor({ state: 'detached' })
  assert.equal(new URL(page.url()).searchParams.get('q'), 'not-in-any-line')
  await page.close()
})

test('the palette finds a job by a part of its name', { skip }, async () => {
  await runFile(visit.program.client, serviceFile('hidden-away', { count: 1 }))
  const page = await visit.browser.open(visit.here('/jobs'))
  await page.getByRole('row', { name: /hidden-away/ }).waitFor()
  await page.keyboard.press('Control+k')
  await page.keyboard.type('den-aw')
  await page.getByRole('option', { name: /Job hidden-away/ }).waitFor()
  await page.keyboard.press('Enter')
  await page.getByRole('heading', { name: 'hidden-away', level: 1 }).waitFor()
  await page.close()
})

test('a job that finds no place is explained', { skip }, async () => {
  const file = serviceFile('vast').replace('memory = 16', 'memory = 90000000')
  await runFile(visit.program.client, file)
  const page = await visit.browser.open(visit.here('/jobs/vast?namespace=default'))
  const banner = page.getByRole('region', { name: 'Waiting for capacity' })
  await banner.getByRole('heading', { name: /2 allocations could not be placed/ }).waitFor()
  await banner.getByRole('link', { name: /^Edit at line \d+$/ }).waitFor()
  await banner.getByRole('link', { name: 'What every node lacks' }).click()
  await page.getByText('Suggested changes').waitFor()
  await checkAccess(page)
  await page.close()
})

test('a parameterized job is dispatched with what it asks for', { skip }, async () => {
  const file = serviceFile('takes')
    .replace(
      'group "app"',
      'type = "batch"\n  parameterized {\n    meta_required = ["size"]\n  }\n  group "app"',
    )
    .replace(/update \{[^}]*\}/, '')
  await runFile(visit.program.client, file)
  const page = await visit.browser.open(visit.here('/jobs/takes?namespace=default'))
  await page.getByText('No runs yet').waitFor()
  await page.getByRole('button', { name: 'Dispatch…' }).click()
  const form = page.getByRole('dialog', { name: 'Dispatch takes' })
  await form.getByRole('button', { name: 'Dispatch' }).hover()
  await form.getByText('Fill in size.').waitFor()
  await checkAccess(page)
  await form.getByLabel('size').fill('4')
  await form.getByLabel('Payload').fill('héllo')
  await form.getByText('6 of 16384 bytes').waitFor()
  await form.getByRole('button', { name: 'Dispatch' }).click()
  await page.getByRole('heading', { name: /takes\/dispatch-/, level: 1 }).waitFor()
  const id = decodeURIComponent(new URL(page.url()).pathname.split('/').at(-1) ?? '')
  const { data } = await visit.program.client.v1.readJob({ params: { job_id: id } })
  assert.equal(Buffer.from(data.Payload ?? '', 'base64').toString('utf8'), 'héllo')
  assert.equal(data.Meta?.['size'], '4')
  await page.close()
})

test('a job is stopped after a question, started again and purged', { skip }, async () => {
  await runFile(visit.program.client, serviceFile('stops', { count: 1 }))
  const page = await visit.browser.open(visit.here('/jobs/stops?namespace=default'))
  await page.getByText('1 running').waitFor()
  await page.getByRole('button', { name: 'Stop…' }).click()
  await page.getByRole('button', { name: 'Stop the job' }).click()
  await page.getByText('stopped', { exact: true }).first().waitFor()
  const start = page.getByRole('button', { name: 'Start', exact: true })
  await start.click()
  // What is being stopped may still run: the job itself tells that it was started.
  await start.waitFor({ state: 'hidden' })
  await page.getByText('1 running').waitFor()
  const params = { job_id: 'stops' }
  const { data: job } = await visit.program.client.v1.readJob({ params })
  const query = { version: job.Version }
  const { data: source } = await visit.program.client.v1.readJobSubmission({ params, query })
  assert.match(source.Source, /job "stops"/)
  await page.getByRole('button', { name: 'Stop…' }).click()
  await page.getByRole('button', { name: 'Stop the job' }).click()
  await page.getByRole('button', { name: 'Purge…' }).click()
  await page.getByRole('button', { name: 'Purge the job' }).click()
  await page.getByRole('heading', { name: 'Jobs', level: 1 }).waitFor()
  await page.close()
})

test('a job that somebody purged is not shown as if it were there', { skip }, async () => {
  const purge = () =>
    visit.program.client.v1.stopJob({ params: { job_id: 'vanishes' }, query: { purge: true } })
  await runFile(visit.program.client, serviceFile('vanishes', { count: 1 }))
  const page = await visit.browser.open(visit.here('/jobs/vanishes?namespace=default'))
  await page.getByText('1 running').waitFor()
  await purge()
  await page.getByText('Not found.').waitFor()
  await page.getByRole('button', { name: 'Stop…' }).waitFor({ state: 'detached' })
  await runFile(visit.program.client, serviceFile('vanishes', { count: 1 }))
  await page.getByText('1 running').waitFor()
  await page.close()
})

test('what is typed stays when the job is purged, and makes it anew', { skip }, async () => {
  await runFile(visit.program.client, serviceFile('returns', { count: 1 }))
  const page = await visit.browser.open(
    visit.here('/jobs/returns/definition?namespace=default&edit=yes'),
  )
  const editor = page.getByRole('textbox', { name: 'Definition of the job' })
  await editor.click()
  await page.keyboard.press('Control+End')
  await page.keyboard.type('# mine')
  await visit.program.client.v1.stopJob({ params: { job_id: 'returns' }, query: { purge: true } })
  await page.getByText('Not found.').waitFor()
  await checkAccess(page)
  await page.keyboard.type(' gj')
  await editor.getByText('# mine gj').waitFor()
  await page.getByRole('button', { name: 'Plan' }).click()
  await page.getByRole('heading', { name: 'Plan', exact: true }).waitFor()
  await page.getByRole('button', { name: 'Run', exact: true }).click()
  await page.getByText('1 running').waitFor()
  await page.close()
})

test('the first load stays within its budget', { skip }, async () => {
  const page = await visit.browser.open(visit.here('/jobs'))
  await page.getByRole('heading', { name: 'Jobs', level: 1 }).waitFor()
  const bytes = Number(
    await page.evaluate(
      `performance.getEntriesByType('resource').filter(({ name }) => name.includes('/ui/'))
        .reduce((sum, { encodedBodySize }) => sum + encodedBodySize, 0)`,
    ),
  )
  assert.ok(bytes > 50_000 && bytes < 200_000, `${bytes} bytes`)
  await page.close()
})

test('a quarantined job says why it is not placed, and is released', { skip }, async () => {
  await runFile(visit.program.client, serviceFile('poisons', { count: 1 }))
  const page = await visit.browser.open(visit.here('/jobs'))
  // No job takes down the only node of this program: the answer is what it would be.
  const state = { isReleased: false }
  await page.route(/\/v1\/job\/poisons\?/, async (route) => {
    const response = await route.fetch()
    const Quarantine = {
      Reason: '2 nodes were lost while allocations of version 0 were starting on them: a, b',
      NodeIDs: ['a', 'b'],
      Time: 1,
      Version: 0,
      CreateIndex: 1,
    }
    const job: object = await response.json()
    await route.fulfill({ response, json: state.isReleased ? job : { ...job, Quarantine } })
  })
  await page.route(/\/v1\/job\/poisons\/release/, async (route) => {
    state.isReleased = true
    // A write to the job, as the release is: the page reads it again.
    await runFile(visit.program.client, serviceFile('poisons', { count: 1, words: 'released' }))
    await route.fulfill({ json: { EvalID: '', EvalCreateIndex: 0, JobModifyIndex: 0, Index: 0 } })
  })
  await page.goto(visit.here('/jobs/poisons?namespace=default'))
  const panel = page.getByRole('region', { name: 'Quarantined' })
  await panel.getByText(/2 nodes were lost while allocations of version 0/).waitFor()
  await checkAccess(page)
  await panel.getByRole('button', { name: 'Release…' }).click()
  await page.getByRole('button', { name: 'Release the job' }).click()
  await page.getByText('The job is released.', { exact: true }).waitFor()
  await panel.waitFor({ state: 'detached' })
  await page.unrouteAll({ behavior: 'wait' })
  await page.close()
})
