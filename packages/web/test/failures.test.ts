import assert from 'node:assert/strict'
import { test } from 'node:test'
import { createClient, resource, toMany } from '@reeve/sdk'
import { checkAccess, checkNarrow, noBrowser } from './browser.ts'
import { runFile, serviceFile } from './jobs.ts'
import { visitProgram } from './visit.ts'

const skip = noBrowser
const visit = visitProgram()

/** A service whose one task is this shell line. */
function taskFile(id: string, line: string, more = ''): string {
  return `job "${id}" {
  group "app" {
    restart {
      attempts = 0
    }
    reschedule {
      delay          = "10m"
      delay_function = "constant"
      unlimited      = true
    }
    ${more}
    task "worker" {
      driver = "raw_exec"
      config {
        command = "/bin/sh"
        args    = ["-c", ${JSON.stringify(line)}]
      }
      resources {
        cpu    = 10
        memory = 16
      }
    }
  }
}
`
}

test('a job whose task exits says why above all else, and what to do', { skip }, async () => {
  const line = 'echo starting; echo "panic: connection refused" >&2; exit 3'
  await runFile(visit.program.client, taskFile('crashes', line))
  const page = await visit.browser.open(visit.here('/jobs/crashes?namespace=default'))
  const banner = page.getByRole('region', { name: 'Failure', exact: true })
  await banner.getByRole('heading', { name: 'Task "worker" exited with code 3' }).waitFor()
  await banner.getByText('panic: connection refused').waitFor()
  await banner.getByText('Next attempt').waitFor()
  await page.getByText('failing', { exact: true }).first().waitFor()
  const box = await banner.boundingBox()
  assert.ok(box !== null && box.y < 400, 'the reason is above the fold')
  await checkAccess(page)
  await checkNarrow(page)
  const command = banner.getByText(/^reeve alloc logs --stderr --task worker [0-9a-f]{8}$/)
  await command.waitFor()
  await page.setViewportSize({ width: 1280, height: 800 })
  await page.goto(visit.here('/jobs'))
  const row = page.getByRole('row', { name: /crashes/ })
  await row.getByText('Task "worker" exited with code 3').waitFor()
  await page.goBack()
  await banner.getByRole('link', { name: /Correct the configuration.*line 14/ }).click()
  await page.getByRole('textbox', { name: 'Definition of the job' }).waitFor()
  assert.match(page.url(), /edit=yes&line=14/)
  await page.close()
})

test('a command that does not exist is named on the page of its allocation', { skip }, async () => {
  const file = taskFile('mistyped', 'true').replace('/bin/sh', '/bin/shh')
  await runFile(visit.program.client, file)
  const page = await visit.browser.open(visit.here('/jobs/mistyped?namespace=default'))
  const banner = page.getByRole('region', { name: 'Failure', exact: true })
  await banner.getByRole('heading', { name: /\/bin\/shh/ }).waitFor()
  await banner.getByRole('link', { name: /^[0-9a-f]{8}$/ }).click()
  await page.getByRole('heading', { name: 'mistyped.app[0]', level: 1 }).waitFor()
  await banner.getByRole('heading', { name: /\/bin\/shh/ }).waitFor()
  await banner.getByText('Show the events').waitFor()
  assert.equal(await banner.getByRole('link', { name: 'Show the events' }).count(), 0)
  await checkAccess(page)
  await page.close()
})

test('a lost allocation leads to its node', { skip }, async () => {
  await runFile(visit.program.client, taskFile('misplaced', 'exit 5'))
  const page = await visit.browser.open(visit.here('/jobs'))
  // The only node of this program cannot be lost.
  await page.route(/\/v1\/allocation\/[^/]+\/failure/, async (route) => {
    const response = await route.fetch()
    const failure: object = await response.json()
    const Remedies = [{ Kind: 'show-node', Text: 'Show the node', Command: 'reeve node status' }]
    await route.fulfill({ response, json: { ...failure, Remedies } })
  })
  await page.goto(visit.here('/jobs/misplaced?namespace=default'))
  const banner = page.getByRole('region', { name: 'Failure', exact: true })
  const link = banner.getByRole('link', { name: 'Show the node' })
  await link.waitFor()
  const { data: nodes } = await visit.program.client.v1.listNodes()
  assert.equal(await link.getAttribute('href'), `/ui/nodes/${nodes[0]?.ID}`)
  await banner.getByRole('link', { name: /^[0-9a-f]{8}$/ }).click()
  await page.getByRole('heading', { name: 'misplaced.app[0]', level: 1 }).waitFor()
  await link.click()
  await page.getByRole('heading', { name: nodes[0]?.Name ?? '', level: 1 }).waitFor()
  await page.unrouteAll({ behavior: 'wait' })
  await page.close()
})

test('a failing check shows its status and body', { skip }, async () => {
  const address = new URL(visit.program.address)
  const more = `
    network {
      port "http" {}
    }
    update {
      healthy_deadline  = "3s"
      progress_deadline = "5s"
      min_healthy_time  = "0s"
    }
    service {
      name     = "api"
      address  = "${address.hostname}"
      port     = "${address.port}"
      check {
        name     = "alive"
        type     = "http"
        path     = "/v1/job/none"
        interval = "1s"
        timeout  = "1s"
      }
    }`
  await runFile(visit.program.client, taskFile('unhealthy', 'sleep 600', more))
  const page = await visit.browser.open(visit.here('/jobs/unhealthy?namespace=default'))
  const banner = page.getByRole('region', { name: 'Failure', exact: true })
  await banner.getByText('Check alive of service api answered 404').waitFor()
  await banner.getByText('job not found', { exact: true }).waitFor()
  await page.goto(visit.here('/services/api?namespace=default'))
  await page.getByText('0 of 1 passing').waitFor()
  await checkAccess(page)
  await page.close()
})

test('a parent says why its newest child job failed', { skip }, async () => {
  const file = taskFile('imports', 'echo bad row >&2; exit 4')
    .replace('group "app"', 'type = "batch"\n  parameterized {}\n  group "app"')
    .replace('unlimited      = true', 'unlimited      = false\n      attempts = 0')
  await runFile(visit.program.client, file)
  await visit.program.client.v1.dispatchJob({ params: { job_id: 'imports' }, body: {} })
  const page = await visit.browser.open(visit.here('/jobs/imports?namespace=default'))
  await page.getByText('1 of 1 child jobs failed').waitFor()
  await page.getByRole('region', { name: 'Failure' }).getByText('bad row').waitFor()
  await checkAccess(page)
  await page.close()
})

test('a large child job is not explained, and further ones are not counted', { skip }, async () => {
  const file = taskFile('floods', 'exit 4')
    .replace('group "app"', 'type = "batch"\n  parameterized {}\n  group "app"')
    .replace('unlimited      = true', 'unlimited      = false\n      attempts = 0')
  await runFile(visit.program.client, file)
  const params = { job_id: 'floods' }
  const { v1 } = visit.program.client
  for (const _ of ['older', 'newer']) await v1.dispatchJob({ params, body: {} })
  const page = await visit.browser.open(visit.here('/jobs'))
  const read: string[] = []
  page.on('request', (request) => read.push(new URL(request.url()).pathname))
  // The second page stays under way.
  await page.route(/\/v1\/jobs\/statuses\?.*next_token=/, () => undefined)
  await page.route(/\/v1\/jobs\/statuses\?(?!.*next_token=).*prefix=floods/, async (route) => {
    const url = new URL(route.request().url())
    url.searchParams.set('per_page', '1')
    const response = await route.fetch({ url: url.href })
    const rows: readonly object[] = await response.json()
    await route.fulfill({ response, json: rows.map((row) => ({ ...row, GroupCountSum: 50_000 })) })
  })
  await page.goto(visit.here('/jobs/floods?namespace=default'))
  await page.getByText('1 of the last 1 child jobs failed').waitFor()
  assert.equal(await page.getByRole('region', { name: 'Failure' }).count(), 0)
  assert.equal(read.filter((path) => path.endsWith('/allocations')).length, 0)
  await page.unrouteAll({ behavior: 'ignoreErrors' })
  await page.close()
})

test(
  'the overview of a finished job reads no allocations and its state once',
  { skip },
  async () => {
    const file = taskFile('finishes', 'exit 0')
      .replace('group "app"', 'type = "batch"\n  group "app"')
      .replace('unlimited      = true', 'unlimited      = false\n      attempts = 0')
    await runFile(visit.program.client, file)
    const page = await visit.browser.open(visit.here('/jobs?namespace=default'))
    await page
      .getByRole('row', { name: /finishes/ })
      .getByText('complete', { exact: true })
      .waitFor()
    const read: string[] = []
    page.on('request', (request) => {
      const { pathname, search } = new URL(request.url())
      if (request.method() === 'POST' || pathname.endsWith('/allocations'))
        read.push(pathname + search)
    })
    await page.getByRole('link', { name: 'finishes' }).click()
    await page.getByRole('region', { name: 'Group app' }).getByRole('link').first().waitFor()
    assert.deepEqual([...new Set(read)], ['/v1/jobs/statuses?namespace=default'])
    await page.close()
  },
)

test('a plan that a policy denies is red, and cannot be run', { skip }, async () => {
  const limits = await limitCounts('acme', { level: 'hard-mandatory', sets: ['guards'] })
  const page = await visit.browser.open(visit.here('/run'))
  const editor = page.getByRole('textbox', { name: 'Definition of the job' })
  await editor.fill(serviceFile('toomany', { count: 9 }))
  await page.getByRole('button', { name: 'Plan' }).click()
  const alert = page.getByRole('alert')
  await alert.getByText('1 policy blocks this job').waitFor()
  await alert.getByText('hard-mandatory').waitFor()
  const run = page.getByRole('button', { name: 'Run: blocked by policy "limits"' })
  assert.equal(await run.getAttribute('aria-disabled'), 'true')
  assert.equal(await page.getByText('would be denied').count(), 0)
  assert.equal(await page.getByText('hard-mandatory', { exact: true }).count(), 1)
  await checkAccess(page)
  await editor.fill(serviceFile('toomany', { count: 2 }))
  await page.getByRole('button', { name: 'Plan' }).click()
  await page.getByLabel('Message (optional)').fill('two will do')
  await page.getByRole('button', { name: 'Run', exact: true }).click()
  await page.getByText('“two will do”').waitFor()
  await limits.remove()
  await page.close()
})

test('an overridable policy is overridden with a reason, after a question', { skip }, async () => {
  const limits = await limitCounts('shops', { level: 'soft-mandatory', sets: ['one', 'other'] })
  const page = await visit.browser.open(visit.here('/run'))
  const editor = page.getByRole('textbox', { name: 'Definition of the job' })
  await editor.fill(serviceFile('exceeds', { count: 4 }))
  await page.getByRole('button', { name: 'Plan' }).click()
  await page.getByRole('button', { name: 'Run: blocked by policy "limits"', exact: true }).waitFor()
  await page.getByRole('alert').getByText('1 policy blocks this job unless overridden').waitFor()
  assert.equal(await page.locator('.blocking.tone-warn').count(), 1)
  assert.equal(await page.locator('.blocking.tone-bad').count(), 0)
  await page.getByRole('button', { name: 'Run with override…' }).click()
  const form = page.getByRole('dialog', { name: 'Override policies' })
  const run = form.getByRole('button', { name: 'Run with override' })
  assert.equal(await run.getAttribute('aria-disabled'), 'true')
  await checkAccess(page)
  await form.getByLabel('Reason').fill('a fair')
  await run.click()
  await page.getByRole('heading', { name: 'exceeds', level: 1 }).waitFor()
  const params = { job_id: 'exceeds' }
  const { data } = await visit.program.client.v1.listJobVerdicts({ params })
  assert.deepEqual(
    data.map(({ Result, Comment }) => [Result, Comment]),
    [['overridden', 'a fair']],
  )
  await limits.remove()
  await page.close()
})

interface Limits {
  readonly level: 'hard-mandatory' | 'soft-mandatory'
  /** Names of the policy sets that contain the policy. */
  readonly sets: readonly string[]
}

/** Denies jobs of the default namespace with more than 3 allocations in a group. */
async function limitCounts(organization: string, { level, sets }: Limits) {
  const { address, governanceToken: token } = visit.program
  const { v2 } = createClient({ address, token })
  const params = { organization_name: organization }
  const email = `ops@${organization}.example`
  await v2.createOrganization({ body: resource('organizations', { name: organization, email }) })
  const attributes = { name: 'limits', kind: 'native', 'enforcement-level': level } as const
  const { data } = await v2.createPolicy({ params, body: resource('policies', attributes) })
  const body = 'main = rule { all job.task_groups as g { g.count <= 3 } }\n'
  await v2.uploadPolicy({ params: { policy_id: data.data.id }, body })
  const guards = {
    policies: toMany('policies', [data.data.id]),
    namespaces: toMany('namespaces', ['default']),
  }
  for (const name of sets)
    await v2.createPolicySet({
      params,
      body: resource('policy-sets', { name, kind: 'native' }, guards),
    })
  return { remove: () => v2.deletePolicy({ params: { policy_id: data.data.id } }) }
}
