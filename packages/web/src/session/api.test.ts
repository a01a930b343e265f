import assert from 'node:assert/strict'
import { test } from 'node:test'
import { localSecretIn } from './api.ts'

const cases = [
  { name: 'on this machine', url: 'http://127.0.0.1:4646/ui/sign-in#token=abc', secret: 'abc' },
  { name: 'by its name', url: 'http://localhost:4646/ui/sign-in#token=abc', secret: 'abc' },
  { name: 'over IPv6', url: 'http://[::1]:4646/ui/sign-in#token=abc', secret: 'abc' },
  { name: 'not on another machine', url: 'https://reeve.example/ui/sign-in#token=abc' },
  { name: 'not on one that is called alike', url: 'http://127.0.0.1.example/ui/#token=abc' },
  { name: 'not when there is none', url: 'http://127.0.0.1:4646/ui/sign-in#other' },
  { name: 'not when it is empty', url: 'http://127.0.0.1:4646/ui/sign-in#token=' },
  { name: 'not where servers see it', url: 'http://127.0.0.1:4646/ui/sign-in?token=abc' },
]
for (const { name, url, secret } of cases)
  test(`the token of a link counts ${name}`, () => {
    assert.equal(localSecretIn(new URL(url)), secret)
  })
