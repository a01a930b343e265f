import assert from 'node:assert/strict'
import { test, type TestContext } from 'node:test'
import { STRANGER_FILE } from '../build/certificates.ts'
import { freePort } from '../build/free-port.ts'
import { until } from '../build/until.ts'
import {
  bootstrapAt,
  fetchBlindly,
  SECRET,
  startRegion,
  tlsBlock,
  type RegionServer,
  type TlsBlock,
} from './region-process.ts'

/** Regions that speak HTTPS and show each other certificates; `global` is the authoritative one. */
async function secureRegions<const Name extends string>(
  t: TestContext,
  regions: Readonly<Record<Name, TlsBlock>>,
): Promise<Record<Name, RegionServer>> {
  const ports = new Map<string, number>()
  for (const name of Object.keys(regions)) ports.set(name, await freePort())
  const known = Object.fromEntries(
    [...ports].map(([name, port]) => [name, [`https://127.0.0.1:${port}`]]),
  )
  const started = await Promise.all(
    Object.entries<TlsBlock>(regions).map(async ([region, block]) => {
      const place = { region, authoritative: 'global', port: ports.get(region) ?? 0, known }
      const lines = tlsBlock(block)
      return [region, await startRegion(t, { ...place, isSecure: true, lines })] as const
    }),
  )
  // Every name was started.
  return Object.fromEntries(started) as Record<Name, RegionServer>
}

/** What a server answers to somebody who asks it for jobs of a region. */
async function jobsOf(asked: RegionServer, region: string, method = 'GET') {
  const answer = await fetchBlindly(`${asked.address}/v1/jobs?region=${region}`, {
    method,
    headers: { 'x-service-token': SECRET },
    ...(method === 'POST' && { body: '{}' }),
  })
  const text = await answer.text()
  return `${answer.status} ${text.replaceAll(/127\.0\.0\.1:\d+/g, 'ADDRESS')}`
}

test('regions: servers of regions prove themselves to each other by certificates', async (t) => {
  const foreign = { holder: 'foreign-server', isMisnamed: true } as const
  const servers = await secureRegions(t, {
    // Takes only callers with a certificate; `eu` has one that it believes.
    global: { holder: 'server', verifiesCallers: true },
    eu: { holder: 'server-eu' },
    // Of another authority, which is the only one that it believes.
    asia: { ...foreign, authority: STRANGER_FILE },
    // Of another authority too, but it believes the one of the others.
    mars: { ...foreign, isMutual: false },
    // With the certificate of another region.
    venus: { holder: 'server-eu', isMisnamed: true },
  })
  const { global: home, eu } = servers
  const bootstrap = await bootstrapAt(eu)
  assert.equal(bootstrap.status, 200, await bootstrap.text())
  const pools = async () =>
    (await home.client.v1.listNodePools({ query: { region: 'eu' } })).data.map(({ Name }) => Name)
  await until('the copy of the token', () => pools().catch(() => undefined))
  await eu.client.v1.writeNodePool({ body: { Name: 'gpu' } })
  await until('its copy', async () => (await pools()).includes('gpu') || undefined)

  const unsigned = 'the certificate of ADDRESS is not signed by an authority of tls.ca_file'
  const refusals = [
    { from: 'global', to: 'asia', why: unsigned },
    { from: 'asia', to: 'global', why: unsigned },
    {
      from: 'global',
      to: 'venus',
      why: 'the certificate of 127.0.0.1 does not name it server.venus.reeve',
    },
    {
      from: 'mars',
      to: 'global',
      why: 'ADDRESS hung up; it may not accept the certificate of this server',
    },
  ] as const
  for (const { from, to, why } of refusals)
    await t.test(`${from} asks ${to}: ${why}`, async () => {
      assert.equal(
        await jobsOf(servers[from], to),
        `503 region "${to}" did not answer (${why}); try again.`,
      )
      // A handshake that fails leaves no doubt; only one that the other side ends does.
      const write = await jobsOf(servers[from], to, 'POST')
      assert.equal(write.includes('may or may not have happened'), from === 'mars')
    })
  // The side that turned it away says so too.
  assert.match(
    home.output(),
    /"why":"its certificate is not signed by an authority of tls.ca_file"/,
  )
})
