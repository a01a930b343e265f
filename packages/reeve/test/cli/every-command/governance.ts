import { gzipSync } from 'node:zlib'
import { aTar } from '../../build/archive.ts'
import type { Story } from './story.ts'

const LIMITS =
  'param most default 2\nmain = rule {\n  all job.task_groups as group { group.count <= most }\n}\n'

const MANIFEST = 'policy "few" {\n  source = "few.native"\n  enforcement_level = "advisory"\n}\n'

const BUCKETS = `package buckets

import rego.v1

deny contains msg if {
	some change in input.plan.resource_changes
	change.change.after.encrypted == false
	msg := sprintf("%s is not encrypted", [change.address])
}
`

const CHANGE = { actions: ['create'], before: null, after: { encrypted: false } }
const RESOURCE = { address: 'bucket.logs', mode: 'managed', type: 'bucket', name: 'logs' }
const PLAN = JSON.stringify({
  format_version: '1.2',
  resource_changes: [{ ...RESOURCE, change: CHANGE }],
})

export const governanceStory: Story = {
  name: 'governance',
  files: {
    'limits.native': LIMITS,
    'buckets.rego': BUCKETS,
    'plan.json': PLAN,
    'job.json': JSON.stringify({ job: { ID: 'x', TaskGroups: [{ Count: 3 }] } }),
    'set.tgz': gzipSync(
      aTar([
        { path: 'native.hcl', text: MANIFEST },
        { path: 'few.native', text: 'main = rule { true }\n' },
      ]),
    ),
  },
  rows: [
    { line: 'org create acme --email ops@acme.example', says: /^Name += acme\nEmail += ops@acme/ },
    { line: 'org list', says: /\nacme +ops@acme\.example/ },
    { line: 'org show acme', says: /\nPermissions += .*can-create-project/ },
    { line: 'org update acme --email it@acme.example', says: /\nEmail += it@acme\.example\n/ },
    {
      line: 'org member add ada@acme.example',
      says: /^ada@acme\.example is invited to organization "acme"/,
    },
    { line: 'org member list', says: /^Email +Username[^]*\nada@acme\.example +\S+ +invited/ },
    {
      line: 'org member remove ada@acme.example',
      code: 1,
      warns: /Take ada@acme\.example out of organization "acme"[^]*Cannot ask/,
    },
    { line: 'project create payments --tag env=prod', says: /\nTags += env=prod\n/ },
    { line: 'project list', says: /\npayments / },
    { line: 'project update payments --description Money', says: /\nDescription += Money\n/ },
    { line: 'project tag payments tier=1', says: /tier=1/ },
    { line: 'project show payments', says: /\nTags += .*tier=1/ },
    { line: 'project namespaces payments --add default', says: /^default\n$/ },
    { line: 'workspace create api', says: /^Name += api\n|\nName += api\n/ },
    { line: 'project move payments api', says: /^Now in project "payments": "api"\.\n$/ },
    { line: 'workspace list', says: /\napi / },
    { line: 'workspace update api --description Door', says: /\nDescription += Door\n/ },
    { line: 'workspace tag api tier=2', says: /tier=2/ },
    { line: 'workspace lock api --reason freeze', says: /\nLocked += yes: freeze\n/ },
    { line: 'workspace unlock api', says: /\nLocked += no\n/ },
    { line: 'workspace show api', says: /\nProject += payments\n/ },
    {
      line: 'workspace variable set api region=eu zone=a',
      says: /^Key +Kind +Value[^]*\nregion +input +eu[^]*\nzone +input +a/,
    },
    {
      line: 'workspace variable set api TOKEN --env --sensitive',
      input: 'hunter2\n',
      says: /\nTOKEN +environment +\(sensitive\)/,
    },
    {
      line: 'varset create cloud --project payments --owner payments',
      says: /\nApplies to += 1 project\n/,
    },
    { line: 'varset set cloud account=42', says: /\naccount +input +42/ },
    { line: 'varset update cloud --priority', says: /\nPriority += yes\n/ },
    { line: 'varset update cloud --no-priority', says: /\nPriority += no\n/ },
    { line: 'varset update cloud --priority', says: /\nPriority += yes\n/ },
    { line: 'varset add cloud --workspace api', says: /\nWorkspaces += api\n/ },
    { line: 'varset list --workspace api', says: /\ncloud +1 +1 project, 1 workspace +yes/ },
    { line: 'workspace variable list api --all', says: /\naccount +input +42/ },
    { line: 'varset remove cloud --workspace api', says: /\nApplies to += 1 project\n/ },
    { line: 'varset show cloud', says: /\nVariables += account=42\n/ },
    { line: 'varset unset cloud account', says: /^The variable set has no variables\.\n$/ },
    { line: 'varset delete cloud --yes', says: /^Variable set "cloud" is deleted\.\n$/ },
    {
      line: 'workspace variable unset api other',
      code: 6,
      warns: /The workspace has no input variable "other"\./,
    },
    { line: 'workspace variable unset api zone', says: /\nregion +input +eu/ },
    { line: 'workspace variable list api', says: /^Key +Kind +Value/ },
    { line: 'team create platform', says: /Name += platform\n/ },
    { line: 'team list', says: /\nplatform / },
    { line: 'team update platform --allow manage-projects', says: /manage-projects/ },
    { line: 'team grant platform payments read', says: /now has read access/ },
    { line: 'team revoke platform payments', says: /no access to project/ },
    { line: 'team add-user platform nobody', code: 1, warns: /^reeve team add-user: .*nobody/ },
    {
      line: 'team remove-user platform nobody',
      code: 1,
      warns: /^reeve team remove-user: .*nobody/,
    },
    { line: 'team show platform', says: /Name += platform\n/ },
    { line: 'token create --team platform --ttl 1h', says: /^\S+\n$/, warns: /is not shown again/ },
    { line: 'token list --teams', says: /^ID[^]*\nat-/, keeps: { token: /^(at-\w+)/m } },
    { line: 'token delete {token}', says: /is deleted/ },
    { line: 'team delete platform --yes', says: /^Team "platform" is deleted/ },
    { line: 'policy-set create jobs', says: /^Name += jobs\n/ },
    {
      line: 'policy create limits.native --set jobs',
      says: /\nKind += native\n[^]*\nSets += jobs\n/,
    },
    { line: 'policy list', says: /\nlimits +native / },
    { line: 'policy show limits', says: /\nSets += jobs\n/ },
    { line: 'policy update limits --level soft-mandatory', says: /\nLevel += soft-mandatory\n/ },
    { line: 'policy upload limits -', input: `# Later.\n${LIMITS}`, says: /./ },
    { line: 'policy download limits', says: /^# Later\.\nparam most/ },
    {
      line: 'policy versions limits',
      says: /^Version +Uploaded[^]*\n\S+ +\S+[^]*\n\S+ /,
      keeps: { first: /^(\S+) .*\n(?![^]*\n\S)/m },
    },
    { line: 'policy try limits job.json', code: 8, says: /^Policy "limits" failed\./ },
    { line: 'policy try limits job.json --param most=3', says: /^Policy "limits" passed\./ },
    { line: 'policy replay limits', says: /^Of \d+ it would have denied 0/ },
    { line: 'policy-set list', says: /\njobs +native +1 / },
    { line: 'policy-set add jobs --project payments', says: /\nGuards += 1 project\n/ },
    { line: 'policy-set remove jobs --project payments', says: /\nGuards += nothing/ },
    { line: 'policy-set param jobs most=4', says: /most +4/ },
    { line: 'policy-set update jobs --description Counts', says: /\nDescription += Counts\n/ },
    { line: 'policy-set show jobs', says: /\nPolicies += limits\n/ },
    { line: 'policy-set create packed', says: /^Name += packed\n/ },
    { line: 'policy-set upload packed set.tgz', says: /now has the policies of set\.tgz/ },
    {
      line: 'policy-set create buckets --kind opa --global --overridable',
      says: /\nGuards += every project/,
    },
    {
      line: 'policy create buckets.rego --query data.buckets.deny --level mandatory --set buckets',
      says: /\nKind += opa\n/,
    },
    { line: 'run evaluate api plan.json', code: 8, says: /bucket\.logs is not encrypted/ },
    {
      line: 'run create api plan.json --message first',
      code: 8,
      says: /\nMessage += first\n/,
      warns: /^Run run-\w+ is created/,
      keeps: { run: /Run (run-\w+) is created/ },
    },
    { line: 'run start api', code: 1, warns: /: Workspace "api" has no configuration\.\n/ },
    { line: 'run list api', says: /\nrun-\w+ / },
    { line: 'run override {run} --comment known', says: /^ID += run-/ },
    { line: 'run show {run}', says: /\nMessage += first\n(?:.*\n)*Resource changes:\n/ },
    { line: 'run log {run}', code: 1, warns: /has no log: its plan was uploaded/ },
    { line: 'run apply {run}', says: /\nStatus += confirmed\n/ },
    {
      line: 'run create api plan.json',
      code: 8,
      says: /not encrypted/,
      warns: /is created/,
      keeps: { second: /Run (run-\w+) is created/ },
    },
    { line: 'run discard {second}', says: /\nStatus += discarded\n/ },
    { line: 'run cancel {second}', code: 7, warns: /^reeve run cancel: / },
    { line: 'run cancel {second} --force', code: 7, warns: /was not canceled, or has ended/ },
    { line: 'state list api', says: /^The workspace has no state\.\n$/ },
    { line: 'state show api', code: 1, warns: /: Workspace "api" has no state\.\n/ },
    { line: 'state pull api 3', code: 1, warns: /: Workspace "api" has no state version "3"\.\n/ },
    { line: 'state diff api', code: 1, warns: /"reeve state list api" lists its state versions/ },
    { line: 'state rollback api 3 --yes', code: 1, warns: /has no state version "3"/ },
    { line: 'org audit acme --action createTeam', says: /^Time +Who[^]* createTeam .* 201/ },
    { line: 'policy delete buckets --yes', says: /^Policy "buckets" is deleted/ },
    { line: 'policy-set delete buckets --yes', says: /^Policy set "buckets" is deleted/ },
    { line: 'workspace delete api --yes', says: /^Workspace "api" is deleted/ },
    {
      line: 'project delete payments --yes',
      code: 1,
      warns:
        /contains 1 namespace\(s\); remove them first\nTake them out with "reeve project move" and /,
    },
    { line: 'project delete payments --force --yes', says: /^Project "payments" is deleted/ },
    { line: 'org delete acme --yes', says: /^Organization "acme" is deleted\.\n$/ },
  ],
}
