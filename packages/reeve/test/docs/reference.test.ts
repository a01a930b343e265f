import assert from 'node:assert/strict'
import { execFile } from 'node:child_process'
import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { test } from 'node:test'
import { promisify } from 'node:util'
import { parseJobFile } from '../../src/jobspec/index.ts'
import { canonicalizeJob, PARSE_DEFAULTS, validateJob } from '../../src/model/index.ts'
import { createTestServer } from '../api/harness.ts'

const ROOT = join(import.meta.dirname, '../../../..')
const FOLDER = join(ROOT, 'docs/reference/job-file')

test('docs/reference: the generated pages are those of the program', async () => {
  const script = join(ROOT, 'tools/reference.ts')
  // Its standard error names the pages that differ, and is part of the error.
  await promisify(execFile)(process.execPath, [script, '--check'], { cwd: ROOT })
})

interface Example {
  readonly page: string
  readonly text: string
}

/** The whole jobs on the pages about job files. */
function examples(): readonly Example[] {
  return readdirSync(FOLDER).flatMap((page) => {
    const text = readFileSync(join(FOLDER, page), 'utf8')
    const blocks = [...text.matchAll(/^```hcl\n([^]*?)^```$/gm)].map(([, block = '']) => block)
    return blocks.filter((block) => /^job "/m.test(block)).map((block) => ({ page, text: block }))
  })
}

test('docs/reference/job-file: every example is a valid job that can be planned', async (t) => {
  const server = await createTestServer({ aclEnabled: false })
  t.after(() => server.close())
  const random = { next: () => 0 }
  assert.ok(examples().length > 40)
  for (const { page, text } of examples()) {
    const read = parseJobFile({ file: page, text, strict: true, files: undefined, random })
    assert.ok(read.ok, `${page}: ${JSON.stringify(read)}`)
    const job = canonicalizeJob(read.value.job, { ...PARSE_DEFAULTS, nodePool: 'default' })
    assert.deepEqual(validateJob(job).list, [], page)
    const params = { job_id: job.ID }
    const body = { Job: read.value.job, Diff: true }
    const planned = await server.ok('planJob', { params, body })
    assert.equal(planned.Diff?.Type, 'Added', page)
  }
})
