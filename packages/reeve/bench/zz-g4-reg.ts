import { createTestServer } from '../test/api/harness.ts'
import { aJob } from '../test/build/index.ts'
const server = await createTestServer({ aclEnabled: true })
const { SecretID: token } = await server.ok('bootstrapAcl')
let n = 0
async function round(count: number): Promise<number> {
  const start = performance.now()
  for (let i = 0; i < count; i++) {
    n++
    const r = await server.send('POST', '/v1/jobs', { token, body: { Job: { ...aJob(), ID: `job-${n}`, Name: `job-${n}` } } })
    if (r.status !== 200) throw new Error(r.text)
  }
  return count / ((performance.now() - start) / 1000)
}
await round(1500)
const rates: number[] = []
for (let i = 0; i < 9; i++) rates.push(await round(500))
rates.sort((a, b) => a - b)
console.log('median register/s', Math.round(rates[4] ?? 0), rates.map(Math.round).join(' '))
process.exit(0)
