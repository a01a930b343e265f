import assert from 'node:assert/strict'
import test from 'node:test'
import { aConfigFile, facts, loadFrom, loadOk, messagesOf } from './load-config.build.ts'
