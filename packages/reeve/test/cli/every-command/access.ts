import type { Story } from './story.ts'

/** The secret that the server is set up with: rows may then say it. */
export const ROOT_SECRET = '2b778dd9-f5f1-6f29-b4b4-9a5fa948757a'

const RULES = 'namespace "default" {\n  policy = "read"\n}\n'
const NOBODY = { REEVE_TOKEN: '' }

/** Before all others: it makes the token that they show. */
export const bootstrapStory: Story = {
  name: 'the first token',
  rows: [
    {
      line: 'job status',
      environment: NOBODY,
      code: 5,
      warns: /Permission denied\nNo token was sent\. /,
    },
    {
      line: 'acl bootstrap -',
      input: `${ROOT_SECRET}\n`,
      says: /\nSecret += 2b778dd9-/,
      warns: /^Save the secret/,
    },
  ],
}

export const accessStory: Story = {
  name: 'access',
  files: { 'read.hcl': RULES },
  rows: [
    {
      line: 'acl policy apply --description Look look read.hcl',
      says: /^Policy "look" is stored\.\n$/,
    },
    { line: 'acl policy list', says: /\nlook +Look\n/ },
    { line: 'acl policy read look', says: /\n\nRules\nnamespace "default" \{\n/ },
    {
      line: 'acl role create --name dev --policy look',
      says: /\nName += dev\n[^]*Policies += look\n$/,
    },
    { line: 'acl role update --description Developers dev', says: /\nDescription += Developers\n/ },
    { line: 'acl role read dev', says: /\nDescription += Developers\nPolicies += look\n$/ },
    { line: 'acl role list', says: /\n\w{8} +dev +look +?/ },
    {
      line: 'acl token create --name ci --role dev',
      says: /\nName += ci\nType += client\n/,
      keeps: { accessor: /^Accessor += (\S+)$/m, secret: /^Secret += (\S+)$/m },
    },
    { line: 'acl token self --token {secret}', says: /\nName += ci\n/ },
    { line: 'acl can management', says: /^yes\n$/ },
    { line: 'acl can node:write --token {secret}', says: /^no\n$/, code: 5 },
    { line: 'acl policy self --token {secret}', says: /^Name += look\n/ },
    {
      line: 'acl token list --token {secret}',
      code: 5,
      warns: /Permission denied\nThe token \(from --token\) lacks management/,
    },
    { line: 'acl token update --name pipeline {accessor}', says: /\nName += pipeline\n/ },
    { line: 'acl token read {accessor}', says: /\nName += pipeline\n/ },
    { line: 'acl token list', says: / pipeline +client +no +role dev / },
    { line: 'acl token delete {accessor}', says: /\("pipeline"\) is deleted\.\n$/ },
    { line: 'acl role delete dev', says: /^Role "dev" is deleted\.\n$/ },
    { line: 'acl policy delete look', says: /^Policy "look" is deleted\.\n$/ },
    {
      line: 'login -',
      environment: NOBODY,
      input: 'nobody\n',
      code: 5,
      warns: /does not know this token\.\nNothing was saved/,
    },
    {
      line: 'login -',
      environment: NOBODY,
      input: `${ROOT_SECRET}\n`,
      says: /^Signed in at \S+ as "Bootstrap Token"/,
    },
    { line: 'logout', environment: NOBODY, says: /was removed/ },
  ],
}
