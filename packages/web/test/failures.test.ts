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
  const banner = page.getByRole('region', { name: 'Failure' })
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
  await banner.getByRole('link', { name: /Correct the configuration.*line 14/ }).click()
  await page.getByRole('textbox', { name: 'Definition of the job' }).waitFor()
  assert.match(page.url(), /edit=yes&line=14/)
  await page.close()
})

test('a command that does not exist is named on the page of its allocation', { skip }, async () => {
  const file = taskFile('mistyped', 'true').replace('/bin/sh', '/bin/shh')
  await runFile(visit.program.client, file)
  const page = await visit.browser.open(visit.here('/jobs/mistyped?namespace=default'))
  const banner = page.getByRole('region', { name: 'Failure' })
  await banner.getByRole('heading', { name: /\/bin\/shh/ }).waitFor()
  await banner.getByRole('link', { name: /^[0-9a-f]{8}$/ }).click()
  await page.getByRole('heading', { name: 'mistyped.app[0]', level: 1 }).waitFor()
  await banner.getByRole('heading', { name: /\/bin\/shh/ }).waitFor()
  await checkAccess(page)
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
  const banner = page.getByRole('region', { name: 'Failure' })
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

test('a plan that a policy denies is red, and cannot be run', { skip }, async () => {
  const { address, governanceToken: token } = visit.program
  const admin = createClient({ address, token })
  const params = { organization_name: 'acme' }
  await admin.v2.createOrganization({
    body: resource('organizations', { name: 'acme', email: 'ops@acme.example' }),
  })
  const attributes = {
    name: 'limits',
    kind: 'native',
    'enforcement-level': 'hard-mandatory',
  } as const
  const { data } = await admin.v2.createPolicy({ params, body: resource('policies', attributes) })
  const body = 'main = rule { all job.task_groups as g { g.count <= 3 } }\n'
  await admin.v2.uploadPolicy({ params: { policy_id: data.data.id }, body })
  const guards = {
    policies: toMany('policies', [data.data.id]),
    namespaces: toMany('namespaces', ['default']),
  }
  const set = resource('policy-sets', { name: 'guards', kind: 'native' }, guards)
  await admin.v2.createPolicySet({ params, body: set })
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
  await checkAccess(page)
  await editor.fill(serviceFile('toomany', { count: 2 }))
  await page.getByRole('button', { name: 'Plan' }).click()
  await page.getByLabel('Message (optional)').fill('two will do')
  await page.getByRole('button', { name: 'Run', exact: true }).click()
  await page.getByText('“two will do”').waitFor()
  await page.close()
})
