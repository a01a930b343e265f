import assert from 'node:assert/strict'
import { test } from 'node:test'
import { matchPath } from '../routing/pattern.ts'
import { BASE, paths } from '../paths.ts'
import { routes } from './all.ts'

/** Every page that exists. A change here is a change of what people have bookmarked. */
const SITE_MAP = ['/', '/sign-in', '/session', '/jobs', '/jobs/:jobId', '/jobs/:jobId/:tab', '/run']

test('the site map is what it was', () => {
  assert.deepEqual(
    routes.map(({ path }) => path),
    SITE_MAP,
  )
})

const JOB = { namespace: 'prod', id: 'web/dispatch-1' }
const ADDRESSES = [
  { href: paths.home(), route: '/' },
  { href: paths.signIn('secret'), route: '/sign-in' },
  { href: paths.session(), route: '/session' },
  { href: paths.jobs({ namespace: '*' }), route: '/jobs' },
  { href: paths.job(JOB), route: '/jobs/:jobId' },
  { href: paths.job(JOB, 'versions'), route: '/jobs/:jobId/:tab' },
  { href: paths.jobVersions(JOB, { version: 3, against: 1 }), route: '/jobs/:jobId/:tab' },
  { href: paths.runJob({ namespace: 'prod' }), route: '/run' },
]

for (const { href, route } of ADDRESSES)
  test(`the address ${href} is a page`, () => {
    const { pathname } = new URL(href, 'http://localhost')
    const found = routes.find(({ path }) => matchPath(path, pathname.slice(BASE.length)))
    assert.equal(found?.path, route)
  })

test('an id with slashes is one segment and comes back whole', () => {
  assert.equal(paths.job(JOB), '/ui/jobs/web%2Fdispatch-1?namespace=prod')
  assert.deepEqual(matchPath('/jobs/:jobId', '/jobs/web%2Fdispatch-1'), { jobId: JOB.id })
})

test('all namespaces is what an address says that names none', () => {
  assert.equal(paths.jobs({ namespace: '*' }), '/ui/jobs')
  assert.equal(paths.jobs({ namespace: 'prod' }), '/ui/jobs?namespace=prod')
})
