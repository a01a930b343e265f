import assert from 'node:assert/strict'
import { join } from 'node:path'
import { test } from 'node:test'
import type { FastifyInstance } from 'fastify'
import { createHttpServer } from '../server.ts'
import { mountDocs } from './mount-docs.ts'
import { SILENT_LOG } from '../../../test/build/agent.ts'
import { aPipeline } from '../../../test/build/pipeline.ts'

const FOLDER = join(import.meta.dirname, '../../../../../docs')

function serve(folder: string | undefined): FastifyInstance {
  const app = createHttpServer({
    pipeline: aPipeline().pipeline,
    log: SILENT_LOG,
    responseHeaders: {},
    usesPlainHttp: false,
    isDraining: () => false,
    observerOf: () => () => undefined,
  })
  mountDocs(app, { routes: [], version: '1.2.3', folder })
  return app
}

const app = serve(FOLDER)
const get = async (url: string) => await app.inject(url)

const PAGES = [
  { url: '/docs', shows: /<h1[^>]*>.*Documentation/ },
  { url: '/docs/', shows: /<h1[^>]*>.*Documentation/ },
  { url: '/docs/tutorials/first-job', shows: /<code class="language-hcl">job &quot;hello&quot;/ },
  { url: '/docs/reference/job-file', shows: /href="\/docs\/reference\/job-file\/update"/ },
  { url: '/docs/reference/job-file/update', shows: /<td>.*max_parallel/ },
  { url: '/docs/proof', shows: /<a href="\/docs\/proof" aria-current="page">Proof/ },
  { url: '/docs/reference/cli', shows: /href="\/docs\/reference\/cli\/job#job-run"/ },
]
for (const { url, shows } of PAGES)
  test(`${url} is a page without external resources`, async () => {
    const reply = await get(url)
    assert.equal(reply.statusCode, 200)
    assert.match(reply.body, shows)
    assert.match(String(reply.headers['content-security-policy']), /^default-src 'none'/)
    assert.doesNotMatch(reply.body, /<script|<link|src="http|@import|url\(/)
  })

test('every link of every page leads to a page and a heading of it', async () => {
  const bodies = new Map<string, string>()
  const load = async (path: string): Promise<string> => {
    const known = bodies.get(path)
    if (known !== undefined) return known
    const reply = await get(path)
    assert.equal(reply.statusCode, 200, path)
    bodies.set(path, reply.body)
    for (const target of targetsIn(reply.body)) await load(target.path)
    return reply.body
  }
  await load('/docs')
  assert.ok(bodies.size > 100, `${bodies.size} pages`)
  for (const [from, body] of bodies)
    for (const { path, anchor } of targetsIn(body))
      if (anchor !== undefined)
        assert.ok(
          bodies.get(path || from)?.includes(`id="${anchor}"`),
          `${from} → ${path}#${anchor}`,
        )
})

interface Target {
  readonly path: string
  readonly anchor: string | undefined
}

function targetsIn(body: string): readonly Target[] {
  return [...body.matchAll(/href="(\/docs[^"#]*)?(?:#([^"]*))?"/g)].flatMap(([, path, anchor]) =>
    path === undefined ? [] : [{ path, anchor }],
  )
}

test('images are served, and nothing outside of the documentation', async () => {
  const image = await get('/docs/reference/screenshots/job-1280-light.png')
  assert.deepEqual([image.statusCode, image.headers['content-type']], [200, 'image/png'])
  for (const url of ['/docs/../package.json', '/docs/..%2fpackage.json', '/docs/none'])
    assert.equal((await get(url)).statusCode, 404, url)
})

const SEARCHES = [
  { query: 'progress_deadline', finds: '/docs/reference/job-file/update' },
  { query: 'drain node', finds: '/docs/how-to/replace-a-node' },
  { query: 'DRAIN  Node', finds: '/docs/how-to/replace-a-node' },
]
for (const { query, finds } of SEARCHES)
  test(`a search for ${query} finds ${finds}`, async () => {
    const { body } = await get(`/docs/search?q=${encodeURIComponent(query)}`)
    const [, results = ''] = /<ol class="results">(.*)<\/ol>/s.exec(body) ?? []
    assert.ok(results.includes(`href="${finds}`), results)
  })

test('a search shows its query as text', async () => {
  const { body } = await get(`/docs/search?q=${encodeURIComponent('<b>"x"')}`)
  assert.ok(body.includes('Search: &lt;b&gt;&quot;x&quot;'))
  assert.ok(body.includes('No results.'))
})

test('without the folder a page reports that it is missing', async () => {
  const reply = await serve(undefined).inject('/docs')
  assert.equal(reply.statusCode, 404)
  assert.match(reply.body, /<h1>Page not found/)
})
