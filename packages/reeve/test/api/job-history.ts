import type { Input, Job } from '@reeve/contract'
import { aGroup } from '../build/job.ts'
import { register } from './cluster.ts'
import { createTestServer, type CallOptions, type TestServer } from './harness.ts'

/** Version n of the job has the count n + 1. */
export function ofVersion(version: number, job: Input<Job> = {}): Input<Job> {
  return { ...job, TaskGroups: [aGroup({ Count: version + 1 })] }
}

/** A server without ACLs that holds a job of so many versions, each with its source. */
export async function withVersions(count: number): Promise<TestServer> {
  const server = await createTestServer({ aclEnabled: false })
  await addVersions(server, 0, count)
  return server
}

/** Registers the versions from one number on up to another. */
export async function addVersions(server: TestServer, from: number, to: number): Promise<void> {
  for (let version = from; version < to; version++)
    await server.ok('registerJob', register(ofVersion(version), { Submission: source(version) }))
}

export function source(version: number, fields: object = {}): object {
  return { Source: `job "web" { # ${version} }`, Format: 'hcl2', ...fields }
}

/** A write to the job `web` below its path. */
export function toJob(body?: object, params: Readonly<Record<string, string>> = {}): CallOptions {
  return { params: { job_id: 'web', ...params }, ...(body === undefined ? {} : { body }) }
}

export function revertTo(JobVersion: number, fields: object = {}): CallOptions {
  return toJob({ JobID: 'web', JobVersion, ...fields })
}
