import assert from 'node:assert/strict'
import { readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { test } from 'node:test'
import { taskFunctions } from '../../src/agent/template/render-templates.ts'
import { parseJobFile } from '../../src/jobspec/index.ts'
import { parseTemplate, renderTemplate, type TemplateFunctions } from '@reeve/go-template'
import { canonicalizeJob, PARSE_DEFAULTS, validateJob } from '../../src/model/index.ts'
import { aService } from '../build/catalog.ts'

const PAGE = await readFile(
  join(import.meta.dirname, '../../../../docs/reference/templates.md'),
  'utf8',
)

/** What the page says is there when its examples are rendered. */
function functions(): TemplateFunctions {
  const first = aService({ ID: 'a', Address: '10.0.0.1', Tags: ['main'], JobID: 'data' })
  const second = aService({ ID: 'b', Address: '10.0.0.2', JobID: 'data' })
  const answers = new Map<string, unknown>([
    ['service db', [first, second]],
    ['services ', [{ name: 'db', tags: ['main'] }]],
    ['variable service/jobs/shop', { user: 'shop', password: 's3cret' }],
    ['variables service/jobs', ['service/jobs/shop']],
  ])
  return taskFunctions({
    env: { GREETING: 'hello', REEVE_TASK_NAME: 'web' },
    node: {
      ID: 'node-1',
      Name: 'node-1',
      Region: 'global',
      Datacenter: 'dc1',
      NodePool: 'default',
      NodeClass: '',
      Attributes: {},
      Meta: { rack: 'r1' },
    },
    namespace: 'default',
    nowMs: Date.parse('2026-01-02T03:04:05Z'),
    lookUp: (topic, name) => answers.get(`${topic} ${name}`) ?? null,
    includeFile: (path) => (path === 'local/motd' ? 'Welcome\n' : undefined),
  })
}

function render(source: string, known: TemplateFunctions): string {
  const tree = parseTemplate(source, { left: '{{', right: '}}', functions: known })
  return renderTemplate(tree, { data: new Map(), functions: known, failsOnMissingKey: false })
}

/** The rows of the tables of examples: what is written, and what comes of it. */
function examples(): readonly (readonly [source: string, gives: string])[] {
  const tables = PAGE.split('\n\n').filter((part) => part.startsWith('| Written | Gives |'))
  const rows = tables.flatMap((part) => part.trim().split('\n').slice(2))
  return rows.map((row) => {
    const [, source = '', gives = ''] = /^\| `(.*?)` \| (?:`(.*)`)? ?\|$/.exec(row) ?? []
    assert.notEqual(source, '', row)
    return [source.replaceAll(String.raw`\|`, '|'), gives.replaceAll(String.raw`\|`, '|')]
  })
}

test('docs/reference/templates.md: every example gives what the page says', () => {
  for (const [source, gives] of examples())
    assert.equal(render(source, functions()).replaceAll('\n', '⏎'), gives, source)
})

test('docs/reference/templates.md: every function has an example', () => {
  const sources = examples().map(([source]) => source)
  const refused = ['plugin', 'executeTemplate', 'writeToFile']
  const names = [...functions().keys()].filter((name) => !refused.includes(name))
  const missing = names.filter((name) => !sources.some((one) => calls(one, name)))
  assert.deepEqual(missing, [])
  for (const name of refused) assert.ok(PAGE.includes(`\`${name}\``), name)
})

function calls(source: string, name: string): boolean {
  return new RegExp(String.raw`(?:\{\{-?|[|(]|\b(?:if|range|with)) *${name}\b`).test(source)
}

test('docs/reference/templates.md: the job of the page is right, and its templates are rendered', () => {
  const [, text = ''] = /^```hcl\n(job [^]*?)^```$/m.exec(PAGE) ?? []
  const random = { next: () => 0 }
  const read = parseJobFile({ file: 'job.hcl', text, strict: true, files: undefined, random })
  assert.ok(read.ok, JSON.stringify(read))
  const job = canonicalizeJob(read.value.job, { ...PARSE_DEFAULTS, nodePool: 'default' })
  assert.deepEqual(validateJob(job).list, [])
  const templates = job.TaskGroups[0]?.Tasks[0]?.Templates ?? []
  assert.deepEqual(
    templates.map(({ EmbeddedTmpl }) => render(EmbeddedTmpl, functions())),
    [
      'greeting = hello from dc1\nserver 10.0.0.1:5432\nserver 10.0.0.2:5432\n',
      'DB_USER="shop"\nDB_PASSWORD="s3cret"\n',
    ],
  )
})
