import type { Story } from './story.ts'

const POLICY = 'package jobs\n\ndeny contains "no" if input.job.Count > 3\n'
const TESTED = 'package jobs\n\ntest_few if count(deny) == 0 with input.job.Count as 1\n'

/** What asks no server. */
export const localStory: Story = {
  name: 'this machine',
  files: {
    'jobs.rego': POLICY,
    'jobs_test.rego': TESTED,
    'count.json': '{"job": {"Count": 4}}',
    'open.native': 'main   = rule{true}\n',
    'spread.hcl': 'job "web" { # it\n type="batch"\n}\n',
    'agent.hcl': 'ports {\n  http = 70000\n}\n',
  },
  rows: [
    { line: 'version', says: /^reeve \d+\.\d+\.\d+ \(checkout, node / },
    { line: 'completion bash', says: /complete .*reeve/ },
    {
      line: 'config validate agent.hcl',
      code: 1,
      warns: /^agent\.hcl:2,10-15: ports\.http must be a whole number/m,
    },
    { line: 'job fmt --check spread.hcl', code: 1, says: /^spread\.hcl\n$/ },
    { line: 'job fmt -', input: 'a   =1', says: /^a = 1\n$/ },
    { line: 'job fmt -', input: 'a =', code: 1, warns: /^reeve job fmt: <stdin> cannot be/ },
    { line: 'job fmt spread.hcl', says: /^spread\.hcl\n$/ },
    { line: 'tls ca create', says: /^reeve-ca\.pem and reeve-ca\.key written\.\n/ },
    { line: 'tls cert create --node', says: /^client-global\.pem and client-global\.key written/ },
    { line: 'tls info client-global.pem', says: /\nRole += node in region global\n/ },
    { line: 'policy check jobs.rego', says: /^The policies can be evaluated \(1 file\)\.\n$/ },
    { line: 'policy test jobs.rego jobs_test.rego', says: /\n1 test: 1 passed, 0 failed\n$/ },
    { line: 'policy fmt --check open.native', code: 1, says: /^open\.native\n/ },
    {
      line: 'policy eval jobs.rego --query data.jobs.deny --input count.json',
      code: 1,
      says: /^data\.jobs\.deny: fail\n {2}"no"\n$/,
    },
  ],
}

/** Commands that run until they are ended, or that need a storage of their own, and their tests. */
export const ELSEWHERE: Readonly<Record<string, string>> = {
  agent: 'src/main/reeve.test.ts',
  'agent monitor': 'test/cli/agent-monitor.test.ts',
  'dev-cluster': 'test/e2e/dev-cluster.test.ts',
  'import governance': 'test/cli/import-governance.test.ts',
  'import workload': 'test/cli/import-workload.test.ts',
  'operator migrate-storage': 'src/main/migrate-storage.test.ts',
  'operator snapshot restore': 'test/cli/snapshot.test.ts',
  'operator storage check': 'src/main/storage-commands.test.ts',
  'operator storage salvage': 'src/main/storage-commands.test.ts',
}
