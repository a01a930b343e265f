import assert from 'node:assert/strict'
import { test } from 'node:test'
import { createClient, resource, toMany } from '@reeve/sdk'
import type { Page } from 'playwright-core'
import { checkAccess, noBrowser, settle } from './browser.ts'
import { runFile, serviceFile } from './jobs.ts'
import { visitProgram } from './visit.ts'

const visit = visitProgram()
const NOBODY = '11111111-2222-4333-8444-555555555555'

const GONE = [
  { path: '/jobs/never', title: 'never', back: 'Jobs' },
  { path: '/jobs/never/logs', title: 'never', back: 'Jobs' },
  { path: `/allocations/${NOBODY}`, title: 'Allocation 11111111', back: 'Allocations' },
  { path: `/evaluations/${NOBODY}`, title: 'Evaluation 11111111', back: 'Evaluations' },
  { path: `/deployments/${NOBODY}`, title: 'Deployment 11111111', back: 'Deployments' },
  { path: `/nodes/${NOBODY}`, title: 'Node 11111111', back: 'Nodes' },
]
test('the page of what is gone says so and leads to the list', { skip: noBrowser }, () =>
  visit.browser.within({}, async (page) => {
    for (const { path, title, back } of GONE) {
      await page.goto(visit.here(path))
      await page.getByText('Not found.').waitFor()
      await page.getByRole('heading', { name: title, level: 1 }).waitFor()
      assert.equal(await page.title(), `${title} · Reeve`)
      await page.getByRole('link', { name: `Back to ${back}` }).click()
      await page.getByRole('heading', { name: back, level: 1 }).waitFor()
    }
  }),
)

test('what is left of a purged job is shown', { skip: noBrowser }, () =>
  visit.browser.within({}, async (page) => {
    await runFile(visit.program.client, serviceFile('purged', { count: 1 }))
    await visit.program.client.v1.stopJob({
      params: { job_id: 'purged' },
      query: { purge: true },
    })
    await page.goto(visit.here('/jobs/purged'))
    await page.getByRole('heading', { name: 'Remaining records' }).waitFor()
    await page.getByText('job-deregister').first().waitFor()
    await checkAccess(page)
  }),
)

test('a verdict on a job that never came to be leads to no page of it', { skip: noBrowser }, () =>
  visit.browser.within({}, async (page) => {
    await guardDefault()
    const tooMany = serviceFile('denied', { count: 9 })
    await assert.rejects(runFile(visit.program.client, tooMany))
    const { data } = await visit.program.client.v1.listPolicyVerdicts()
    await page.goto(visit.here(`/verdicts/${data[0]?.ID ?? ''}?namespace=default`))
    await page.getByText('denied: not found.').waitFor()
    assert.equal(await page.locator('#main a[href*="/jobs/denied"]').count(), 0)
    await page.goto(visit.here('/jobs/denied'))
    await page.getByRole('link', { name: /^Policy decision / }).click()
    await page.waitForURL('**/ui/verdicts/**')
  }),
)

async function guardDefault(): Promise<void> {
  const { address, governanceToken: token } = visit.program
  const { v2 } = createClient({ address, token })
  const email = 'ops@acme.example'
  await v2.createOrganization({ body: resource('organizations', { name: 'acme', email }) })
  const params = { organization_name: 'acme' }
  const policy = await v2.createPolicy({
    params,
    body: resource('policies', {
      name: 'small',
      kind: 'native',
      'enforcement-level': 'hard-mandatory',
    }),
  })
  const { id } = policy.data.data
  const code = 'main = rule { all job.task_groups as g { g.count <= 3 } }\n'
  await v2.uploadPolicy({ params: { policy_id: id }, body: code })
  await v2.createPolicySet({
    params,
    body: resource(
      'policy-sets',
      { name: 'guards', kind: 'native' },
      { policies: toMany('policies', [id]), namespaces: toMany('namespaces', ['default']) },
    ),
  })
}

test('tabs that do not fit fade at the edge behind which they go on', { skip: noBrowser }, () =>
  visit.browser.within({ width: 390 }, async (page) => {
    await runFile(visit.program.client, serviceFile('narrow', { count: 1 }))
    await page.goto(visit.here('/jobs/narrow'))
    await settle(page)
    await untilHidden(page, 'end')
    const tabs = page.getByRole('navigation', { name: 'Parts of the job' })
    await tabs.getByRole('link', { name: 'Allocations' }).focus()
    await untilHidden(page, 'both')
    await page.goto(visit.here('/jobs/narrow/explain'))
    await settle(page)
    await untilHidden(page, 'start')
    await page.setViewportSize({ width: 1_280, height: 800 })
    await untilHidden(page, 'none')
  }),
)

async function untilHidden(page: Page, sides: string): Promise<void> {
  await page.locator(`.tabs ul[data-hidden="${sides}"]`).waitFor()
}

test('the page of a periodic job tells its next launch', { skip: noBrowser }, () =>
  visit.browser.within({}, async (page) => {
    const file = serviceFile('nightly', { count: 1 })
      .replace('{', '{\n  type = "batch"\n  periodic {\n    crons = ["30 4 1 1 *"]\n  }')
      .replace(/ {4}update \{[^}]*\}\n/, '')
    await runFile(visit.program.client, file)
    await page.goto(visit.here('/jobs/nightly'))
    await page.getByText(/^\d{4}-01-01 04:30 UTC \(in [^)]+\)$/).waitFor()
  }),
)

test('a failure stays while what was never read is asked for again', { skip: noBrowser }, () =>
  visit.browser.within({}, async (page) => {
    let asked = 0
    const thrice = Promise.withResolvers<void>()
    await page.route('**/v1/event/stream**', (route) => route.fulfill({ status: 403 }))
    await page.route('**/v1/nodes**', async (route) => {
      asked++
      if (asked === 3) thrice.resolve()
      await route.fulfill({ status: 403, body: 'Permission denied' })
    })
    await page.goto(visit.here('/nodes'))
    await page.getByText('You do not have permission.').waitFor()
    await page.evaluate(`
      globalThis.wasLoading = false
      new MutationObserver(() => {
        if (document.querySelector('#main .loading')) globalThis.wasLoading = true
      }).observe(document.body, { childList: true, subtree: true })`)
    await thrice.promise
    await page.getByText('You do not have permission.').waitFor()
    assert.equal(await page.evaluate('wasLoading'), false)
  }),
)
